// Data missing from other tools' files, and so from their reports (model::Import).
#pragma once
#include "analysis/analyze.h"
#include "report/report.h"

namespace heaptap::analysis {

// Fails for a query that the file has no data for.
base::Result<> check_untold(const model::Capture& capture, const Query& query);

// Removes figures that the ledger made up because events need a thread, a block and an address.
void leave_out_untold(report::Report& report);

}  // namespace heaptap::analysis
