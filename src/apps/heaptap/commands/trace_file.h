// Opening of the trace that a command names: heaptap's own, or another tool's file.
#pragma once
#include <memory>
#include <string>

#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::app {

// An index stands for its main program's trace if all its programs were one process.
base::Result<std::unique_ptr<model::EventSource>> open_trace(const std::string& path);

// Whether a command line word means a trace: by content or by file name.
bool is_trace(const std::string& path);

// In the working directory: the destination of heaptap.latest.htap, else the newest heaptap.*.htap.
base::Result<std::string> newest_trace();
// The named trace; empty: the newest.
base::Result<std::string> named_or_newest(const std::string& trace);

}  // namespace heaptap::app
