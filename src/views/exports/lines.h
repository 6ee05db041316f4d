// Leaks, and the verdict of `heaptap check`, as lines of a compiler: see lines.cc.
#pragma once
#include <string>

#include "analysis/findings/verdict.h"
#include "analysis/report/view.h"

namespace heaptap::exports {

// A line for each stack that leaks, and one if there may be more.
void write_leak_lines(const report::Report& report, const report::Write& write);

// A line for each limit that is exceeded or can't be judged, for each stack that it lists, and for each remark.
std::string lines_of(const findings::Verdict& verdict);

}  // namespace heaptap::exports
