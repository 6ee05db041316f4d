// Recordings for the console.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "live/recording.h"

namespace heaptap::app {

// `target`: a PID on `machine` (empty: this one), the path of a recording's socket, or a trace.
base::Result<std::unique_ptr<live::Recording>> connect_to(const std::string& target, const std::string& machine = {});

}  // namespace heaptap::app
