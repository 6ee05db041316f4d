// Opening the trace that a command names.
#pragma once
#include <string>

#include "base/result.h"
#include "trace/trace_reader.h"

namespace heaptap::app {

base::Result<trace::TraceReader> open_trace(const std::string& path);

}  // namespace heaptap::app
