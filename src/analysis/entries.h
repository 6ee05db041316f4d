// The parts of a Report that are made from the ledger alone, one function each.
#pragma once
#include "ledger/ledger.h"
#include "model/tables.h"
#include "report/report.h"

namespace heaptap::analysis {

// Whether releases of unknown blocks accuse nobody.
bool has_unwatched_functions(const ledger::Totals& totals);
report::Totals totals_of(const ledger::Ledger& ledger);
// As far as a leak scan knows them.
report::Totals totals_of(const report::Leaks& leaks);
std::vector<report::SizeClass> size_classes_of(const ledger::Ledger& ledger);
std::vector<report::ExactSize> sizes_of(const ledger::Ledger& ledger);
std::vector<report::LifetimeClass> lifetimes_of(const ledger::Ledger& ledger);
std::vector<report::TimelinePoint> timeline_of(const ledger::Ledger& ledger);
std::vector<report::ThreadEntry> threads_of(const ledger::Ledger& ledger, const model::Tables& tables);
std::vector<report::ModuleEntry> modules_of(const model::Tables& tables);

}  // namespace heaptap::analysis
