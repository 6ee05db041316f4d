// Lists of traces for commands that take several, or directories with traces.
#pragma once
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::app {

// Each trace once, in the order of `words`; those of a directory (*.htap in it, without the link to the newest) by name. A directory
// without a trace is an error.
base::Result<std::vector<std::string>> list_traces(const std::vector<std::string>& words);

}  // namespace heaptap::app
