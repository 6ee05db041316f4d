// Files of other tools that heaptap reads as if they were its own traces: found by their content, whatever their names.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "model/event_source.h"

namespace heaptap::imports {

// Whether it begins like one of them.
bool is_import(const std::string& path);

// Fails for a file that can't be read, or of a version that isn't known. A file that is cut off opens; what can be read of it is
// read, and capture().truncated and .damage say after replay() what can't.
base::Result<std::unique_ptr<model::EventSource>> open_import(const std::string& path);

}  // namespace heaptap::imports
