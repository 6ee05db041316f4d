// Recordings for the console.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "views/client/recording.h"

namespace heaptap::app {

// The PID that a target is; 0: it is a file.
base::Result<uint32_t> process_of(const std::string& target);

// `target`: a PID on `machine` (empty: this one), the path of a recording's socket, or a trace.
base::Result<std::unique_ptr<client::Recording>> connect_to(const std::string& target, const std::string& machine = {});

}  // namespace heaptap::app
