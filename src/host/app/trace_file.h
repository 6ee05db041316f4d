// Opening the trace that a command names.
#pragma once
#include <string>

#include "host/base/result.h"
#include "host/intake/trace_reader.h"

namespace heaptap::app {

base::Result<intake::TraceReader> open_trace(const std::string& path);

}  // namespace heaptap::app
