// Parser of --max-growth.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/growth_limit.h"
#include "common/base/result.h"

namespace heaptap::app {

// "5%" or "64K": of leaked, peak and live bytes, each. "peak=5%", "allocations=100": of one figure. "stack-live=64K": maximum growth
// of any single stack.
base::Result<std::vector<report::GrowthLimit>> parse_growth(const std::string& text);

}  // namespace heaptap::app
