// Inputs of the leak scan views. Private to analysis/.
#pragma once
#include "analysis/ledger/ledger.h"
#include "analysis/query/block_names.h"
#include "analysis/query/leak_scan.h"
#include "analysis/query/resolved_query.h"
#include "analysis/query/stack_index.h"
#include "analysis/query/stack_names.h"

namespace heaptap::query {

struct ViewContext {
  model::EventSource& source;
  const ResolvedQuery& query;
  StackNames& names;
  IgnoredStacks& ignored;
  const ledger::Ledger& ledger;
  const StackIndex& index;
  const JudgedLeaks& judged;  // the scan selected by the query
  BlockNames& blocks;
};

// Number of entries to list, out of `count`.
inline size_t listed(const ResolvedQuery& query, size_t count) {
  return query.asked.listing.limit == 0 || count < query.asked.listing.limit ? count : query.asked.listing.limit;
}

// Views, one each.
base::Result<report::Holders> holders_view(const ViewContext& context);
// Same for several stacks; none for a stack without a block in the scan.
std::vector<std::optional<report::Holders>> holders_of_stacks(const ViewContext& context,
                                                              const std::vector<uint64_t>& ids);
report::Retained retained_view(const ViewContext& context);
report::Globals globals_view(const ViewContext& context);
base::Result<std::vector<report::ScanEntry>> scan_list_view(const ViewContext& context);
base::Result<report::ScanChanges> scan_changes_view(const ViewContext& context);

// Whether the scan is that of the end, and there is one where exit began, too.
bool has_exit_start(const model::EventSource& source, const JudgedLeaks& judged);
// For the listed stacks: who held what they lost until destructors and exit handlers ran.
void fill_exit_holders(const ViewContext& context, report::Report& report);

}  // namespace heaptap::query
