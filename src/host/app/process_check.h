// Whether a process that runs can be attached to: found out before anything is stopped.
#pragma once
#include <sys/types.h>

#include <vector>

#include "host/base/result.h"

namespace heaptap::app {

// The error is that of the first that can't: its cause, and what can be done.
base::Result<> check_processes(const std::vector<pid_t>& processes);

}  // namespace heaptap::app
