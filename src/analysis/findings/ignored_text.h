// Sentence about the stacks that the user's rules ignored.
#pragma once
#include <string>

#include "analysis/report/report.h"

namespace heaptap::findings {

// "2 stacks with 1.2 KiB in 3 blocks are ignored (heaptap.conf:3)"; empty if none is.
std::string ignored_text(const report::Report& report);

}  // namespace heaptap::findings
