// Report sections for interactive exploration: activity, address space, graph of pointers between stacks. Private to analysis/.
#pragma once
#include "analysis/ledger/ledger.h"
#include "analysis/query/leak_scan.h"
#include "analysis/query/view_context.h"
#include "analysis/report/report.h"

namespace heaptap::query {

// Map from a stack's id to its index in a report; kNoRow if it isn't listed.
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

// `judged`: null without a scan. The ledger must have kept activity.
report::Activity activity_view(const ledger::Ledger& ledger, const StackRows& rows, const JudgedLeaks* judged);

// At most `limit` pages: neighbouring pages are merged if there are more. The ledger must have kept addresses.
report::AddressSpace address_space_view(const ledger::Ledger& ledger, const StackRows& rows, uint64_t page_bytes,
                                        size_t limit);

// At most `limit` nodes, those with most bytes.
report::StackGraph stack_graph_view(const ViewContext& context, const StackRows& rows, size_t limit);

// Holders of the stacks with the most lost or live bytes, at most `limit` stacks.
std::vector<report::StackHolders> stack_holders_view(const ViewContext& context, const report::Report& report,
                                                     size_t limit);

}  // namespace heaptap::query
