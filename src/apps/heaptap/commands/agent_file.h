// Location of the agent library.
#pragma once
#include <string>

#include "common/base/result.h"

namespace heaptap::app {

// Path beside this program or in its installation.
base::Result<std::string> find_agent();
// The same of the agent that is put into running processes.
base::Result<std::string> find_injected_agent();

}  // namespace heaptap::app
