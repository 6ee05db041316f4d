// Which verdicts a report can give: what wasn't seen makes no block lost and no release bad.
#pragma once
#include "report/report.h"

namespace heaptap::analysis {

// Of a report whose capture, totals and leaks are there.
report::Known known_of(const report::Report& report);

}  // namespace heaptap::analysis
