// Report parts made from the ledger alone, one function each.
#pragma once
#include "analysis/ledger/ledger.h"
#include "analysis/report/report.h"
#include "common/model/tables.h"

namespace heaptap::query {

// Whether there are unwatched allocators, so that releases of unknown blocks are no errors.
bool has_unwatched_functions(const ledger::Totals& totals);
report::Totals totals_of(const ledger::Ledger& ledger);
// Totals as far as a leak scan has them.
report::Totals totals_of(const report::Leaks& leaks);
report::Sizes sizes_of(const ledger::Ledger& ledger);
std::vector<report::LifetimeClass> lifetimes_of(const ledger::Ledger& ledger);
std::vector<report::TimelinePoint> timeline_of(const ledger::Ledger& ledger);
std::vector<report::ThreadEntry> threads_of(const ledger::Ledger& ledger, const model::Tables& tables);
std::vector<report::ModuleEntry> modules_of(const model::Tables& tables);

}  // namespace heaptap::query
