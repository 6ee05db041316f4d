// The signal by which a recorded program can be asked for a report.
#pragma once
#include <string_view>

#include "base/result.h"

namespace heaptap::app {

// By its name (base/signal_names.h). Fails for those that can't be taken from a program, or tell it something else.
base::Result<int> parse_report_signal(std::string_view name);

}  // namespace heaptap::app
