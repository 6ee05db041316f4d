// The parts of a report that are looked at from many sides: activity, address space, who points to whom. Private to
// analysis/.
#pragma once
#include "analysis/leak_scan.h"
#include "analysis/view_context.h"
#include "ledger/ledger.h"
#include "report/report.h"

namespace heaptap::analysis {

// From a stack's id to its place in a report; kNoRow of those that aren't listed.
class StackRows {
 public:
  static constexpr uint32_t kNoRow = ~uint32_t{0};
  StackRows(const report::Report& report, const StackIndex& index);
  [[nodiscard]] uint32_t of(model::SiteId site) const { return rows_[index_.id_of(site)]; }
  [[nodiscard]] size_t count() const { return count_; }

 private:
  const StackIndex& index_;
  std::vector<uint32_t> rows_;  // by id
  size_t count_;
};

// `judged`: null where there is no scan. The ledger has kept activity.
report::Activity activity_view(const ledger::Ledger& ledger, const StackRows& rows, const JudgedLeaks* judged);

// At most `limit` pages: pages are taken together where there are more. The ledger knows addresses.
report::AddressSpace address_space_view(const ledger::Ledger& ledger, const StackRows& rows, uint64_t page_bytes,
                                        size_t limit);

// At most `limit` nodes, those that have most bytes.
report::StackGraph stack_graph_view(const ViewContext& context, const StackRows& rows, size_t limit);

// How the stacks with the most lost or live bytes are held, at most `limit` of them.
std::vector<report::StackHolders> stack_holders_view(const ViewContext& context, const report::Report& report,
                                                     size_t limit);

}  // namespace heaptap::analysis
