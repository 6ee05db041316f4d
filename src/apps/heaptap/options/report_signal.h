// Signal that requests a report from within a recorded program.
#pragma once
#include <string_view>

#include "common/base/result.h"

namespace heaptap::app {

// By name (common/base/signal_names.h). Fails for signals that can't be caught, or that have another meaning for programs.
base::Result<int> parse_report_signal(std::string_view name);

}  // namespace heaptap::app
