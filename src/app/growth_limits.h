// What --max-growth takes.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "report/growth_limit.h"

namespace heaptap::app {

// "5%" or "64K": of leaked, peak and live bytes, each. "peak=5%", "allocations=100": of one figure. "stack-live=64K": no single
// stack's figure grew by more.
base::Result<std::vector<report::GrowthLimit>> parse_growth(const std::string& text);

}  // namespace heaptap::app
