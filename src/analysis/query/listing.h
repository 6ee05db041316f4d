// Lists of a report whose entries have names and stacks: stacks, bad releases, live blocks.
#pragma once
#include "analysis/ledger/ledger.h"
#include "analysis/query/ignored_stacks.h"
#include "analysis/query/leak_counts.h"
#include "analysis/query/resolved_query.h"
#include "analysis/query/sort_key.h"
#include "analysis/query/stack_index.h"
#include "analysis/query/stack_names.h"
#include "analysis/report/report.h"

namespace heaptap::query {

// Of a stack's allocation function. "allocator": in files of other tools, which don't tell it.
std::string called_name(wire::Function function);
// Whether it is the site of all blocks from before the recording that a scan found.
bool is_earlier(const model::Site& site);

class Lister {
 public:
  // `leaks`: null without a scan.
  Lister(const ledger::Ledger& ledger, const model::Tables& tables, const StackIndex& index, StackNames& names,
         IgnoredStacks& ignored, const ResolvedQuery& query, const LeakCounts* leaks)
      : ledger_(ledger),
        tables_(tables),
        names_(names),
        ignored_(ignored),
        query_(query),
        asked_(query.asked),
        leaks_(leaks),
        index_(index) {}

  // Each fills its part of the report. Stacks that aren't requested are only counted.
  void list_stacks(report::Report& report) const;
  void list_errors(report::Report& report) const;
  void list_blocks(report::Report& report) const;
  // For the leaks of the stacks in the report.
  void generate_suppressions(report::Report& report) const;

 private:
  // Kind of the stack's sites.
  [[nodiscard]] model::EventKind kind_of(uint64_t id) const;
  [[nodiscard]] bool is_mapping(uint64_t id) const { return kind_of(id) == model::EventKind::kMap; }
  [[nodiscard]] bool is_apart(uint64_t id) const { return kind_of(id) != model::EventKind::kAllocate; }
  // If a rule ignores the stack, counts it there.
  [[nodiscard]] bool is_ignored(const report::StackEntry& stack, report::Ignored& ignored) const;
  [[nodiscard]] report::StackCount count_of(const report::StackEntry& stack) const;
  // Mean allocation time of its live blocks.
  [[nodiscard]] uint64_t live_since_ns_of(const report::StackEntry& stack) const;
  void list(report::Report& report, uint64_t id) const;
  void list_others(report::Report& report, std::vector<SortPlace> places) const;
  [[nodiscard]] bool is_seen(const report::StackEntry& stack) const;    // something happened to its blocks
  [[nodiscard]] bool is_listed(const report::StackEntry& stack) const;  // if seen
  void count(uint64_t id, report::StackEntry& stack) const;             // sets its numbers
  [[nodiscard]] report::Growth growth_of(uint64_t id, const report::StackEntry& stack) const;
  static void take_from_scan(report::StackEntry& stack);
  [[nodiscard]] report::ScannedLeaks leaks_of(uint64_t id) const;
  [[nodiscard]] report::ThreadNumbers threads_of(uint64_t id) const;
  void name(report::StackEntry& stack) const;
  void name_label(report::StackEntry& stack, const model::Site& site) const;
  // Adds the stack to the sums of its group.
  void count_label(std::vector<report::LabelEntry>& labels, const report::StackEntry& stack) const;
  [[nodiscard]] report::ErrorEntry error_of(const ledger::ReleaseError& error) const;
  [[nodiscard]] report::ErrorEntry::Origin origin_of(model::SiteId site, uint64_t size_bytes) const;
  [[nodiscard]] StackContent content_of(model::SiteId site) const;

  const ledger::Ledger& ledger_;
  const model::Tables& tables_;
  StackNames& names_;
  IgnoredStacks& ignored_;
  const ResolvedQuery& query_;
  const Query& asked_;
  const LeakCounts* leaks_;
  const StackIndex& index_;
};

}  // namespace heaptap::query
