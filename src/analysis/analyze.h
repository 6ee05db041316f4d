// From a source of events to a Report: replays them through the ledger, merges, filters, sorts, and asks for the names of
// what is shown.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "analysis/ignores.h"
#include "analysis/sort_key.h"
#include "analysis/suppression_writer.h"
#include "analysis/suppressions.h"
#include "base/result.h"
#include "leaks/classify.h"
#include "model/event_source.h"
#include "report/report.h"
#include "symbols/resolver.h"

namespace heaptap::analysis {

// Which block is asked about: the one around an address, the one with a number, or the largest one of a stack.
struct BlockQuestion {
  enum class By : uint8_t { kAddress, kNumber, kStack };
  By by = By::kAddress;
  uint64_t value = 0;
};
// "0x7f001234", "#b12" or "b12", "#12" or "12".
base::Result<BlockQuestion> parse_block_question(std::string_view text);

// What sums are made of stacks by, beside those of the stacks.
enum class GroupBy : uint8_t { kNothing, kTag, kPool };

enum class RetainedBy : uint8_t { kBlock, kStack, kType };

struct Query {
  // Which allocations are counted.
  std::string function = {};           // part of, or a regular expression for, the name of any frame; empty: all
  std::string module = {};             // the same for the path of any frame's module
  std::vector<std::string> skip = {};  // functions that don't name a site, as `function`
  std::vector<std::string> tags = {};  // each has to be one of the tags that it was allocated under, as `function`
  uint32_t thread = 0;                 // 0: all
  Ignores ignores = {};                // stacks that are in the totals and in no list
  // A window: only allocations in it, and what of them is alive at its end. As it was asked for, in words (analysis/window.h);
  std::string from = {};
  std::string to = {};
  uint64_t from_ns = 0;  // and what these mean
  uint64_t to_ns = ~uint64_t{0};
  std::optional<uint64_t> from_event = {};  // where it begins at a mark: behind so many events; its time is about that
  std::optional<uint64_t> to_event = {};
  bool from_is_earlier = false;  // at a mark from before this program was executed: where it begins
  bool to_is_earlier = false;

  // What of it is listed.
  SortKey sort = SortKey::kUsage;
  size_t limit = 0;                      // stacks and blocks; 0: all
  uint32_t depth = 0;                    // frames of a stack; 0: all
  bool stacks = true;                    // list stacks at all
  std::vector<uint64_t> stack_ids = {};  // list these, in this order, and no others; empty: as `sort` and `limit` say
  GroupBy group = GroupBy::kNothing;     // sums by tags or pools
  bool counts = false;                   // all stacks in numbers, without names
  bool blocks = false;                   // list live blocks
  bool errors = false;                   // list bad releases, with their stacks
  bool leaks_only = false;               // only stacks with leaks; without a scan those that still hold something
  bool statistics = true;                // sizes, lifetimes, the timeline and threads; without them it is faster
  bool lifetimes = true;                 // of each stack's blocks; the same
  bool events = true;                    // false: of calls nothing is known, only of what a scan found; needs one

  // Leaks, where the trace has a scan of the target's memory.
  bool scans = true;  // conclude from scans; without it is faster, and nothing is known of leaks
  uint32_t scan = 0;  // number of the scan; 0: the last one
  leaks::LeakOptions leaks = {};
  Suppressions suppressions = {};
  bool carried_suppressions = true;                // those that the trace carries count, too
  std::optional<SuppressionSyntax> generate = {};  // write suppressions for the listed leaks
  std::optional<BlockQuestion> why = {};           // who holds this block
  std::optional<RetainedBy> retained = {};         // what would go if this went
  bool globals = false;                            // what only global variables hold
  bool activity = false;                           // what happened when, by stack
  bool from_all_sides = false;        // activity, address space, who points to whom: for a report to explore
  bool leaks_else_reachable = false;  // list what leaks; where nothing does, what is reachable, and globals
  bool scan_list = false;             // what each scan found
  uint32_t since = 0;                 // what is lost in `scan` and wasn't in this one; 0: don't compare

  symbols::ResolverOptions symbols = {};
  std::function<void(uint64_t done, uint64_t total)> progress = {};

  [[nodiscard]] bool has_window() const {
    return !from.empty() || !to.empty() || from_ns != 0 || to_ns != ~uint64_t{0};
  }
};

base::Result<report::Report> analyze(model::EventSource& source, const Query& query);

// Of a source that goes on: counts what comes, and reports at any time what there is by then.
class Analysis : public model::EventSink {
 public:
  // The source outlives it. Its events and totals come here as they come there; all else is asked of it. `counts`: which
  // allocations count, and what is kept of them.
  Analysis(model::EventSource& source, Query counts);
  ~Analysis() override;

  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override;
  void on_totals(const model::Totals& totals, const model::Tables& tables) override;

  base::Result<report::Report> report() { return report(counts_); }
  // Whether another query can be answered from what was counted: the same allocations count, and no more has to be kept. Totals take
  // each other's place, which a ledger can't do: where some came, nothing can be answered.
  [[nodiscard]] bool can_answer(const Query& query) const;
  // What analyze() says of the source as it is now, to a query that can be answered.
  base::Result<report::Report> report(const Query& query);
  // The same, made again and again: symbols, the verdict on a scan and the grouping of stacks are kept from one time to the next. (So a
  // hint at symbols that are missing may name another module.)
  base::Result<report::Report> glance(const Query& query);

 private:
  struct Counted;
  struct Kept;

  model::EventSource& source_;
  const Query counts_;
  std::unique_ptr<Counted> counted_;
  std::unique_ptr<Kept> kept_;
  bool has_totals_ = false;
};

}  // namespace heaptap::analysis
