// What a report of another tool's file can't say, since that doesn't tell it (model::Import).
#pragma once
#include "analysis/analyze.h"
#include "report/report.h"

namespace heaptap::analysis {

// Fails for a question that such a file has no answer to.
base::Result<> check_untold(const model::Capture& capture, const Query& query);

// Takes out what the ledger counted only since events need a thread, a block and a place in memory.
void leave_out_untold(report::Report& report);

}  // namespace heaptap::analysis
