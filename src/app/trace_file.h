// Opening the trace that a command names: heaptap's own, or a file of another tool.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "model/event_source.h"

namespace heaptap::app {

// An index stands for its main program's trace where all its programs were one process.
base::Result<std::unique_ptr<model::EventSource>> open_trace(const std::string& path);

// Whether a word of a command line is meant as a trace: it begins like one, or is named like one.
bool is_trace(const std::string& path);

// In the working directory: what heaptap.latest.htap links to, else the newest heaptap.*.htap.
base::Result<std::string> newest_trace();
// The one that a command names; empty: the newest.
base::Result<std::string> named_or_newest(const std::string& trace);

}  // namespace heaptap::app
