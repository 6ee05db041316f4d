// Where the agent's library is.
#pragma once
#include <string>

#include "base/result.h"

namespace heaptap::app {

// Beside this program, or where an installation has it.
base::Result<std::string> find_agent();

}  // namespace heaptap::app
