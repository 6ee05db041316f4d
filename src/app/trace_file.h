// Opening the trace that a command names.
#pragma once
#include <string>

#include "base/result.h"
#include "trace/trace_reader.h"

namespace heaptap::app {

// An index stands for its main program's trace where all its programs were one process.
base::Result<trace::TraceReader> open_trace(const std::string& path);

// Whether a word of a command line is meant as a trace: it begins like one, or is named like one.
bool is_trace(const std::string& path);

// In the working directory: what heaptap.latest.htap links to, else the newest heaptap.*.htap.
base::Result<std::string> newest_trace();

}  // namespace heaptap::app
