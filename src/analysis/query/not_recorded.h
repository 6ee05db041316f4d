// Data missing from other tools' files, and so from their reports (model::Import).
#pragma once
#include "analysis/query/resolved_query.h"
#include "analysis/report/report.h"

namespace heaptap::query {

// Fails for a query that the file has no data for.
base::Result<> check_not_recorded(const model::Capture& capture, const ResolvedQuery& query);

// Removes figures that the ledger made up because events need a thread, a block and an address: of the totals, and of all
// else.
void leave_out_not_recorded(const model::Import& import, report::Totals& totals);
void leave_out_not_recorded(report::Report& report);

}  // namespace heaptap::query
