// Whether a process that runs can be attached to: found out before anything is stopped.
#pragma once
#include <sys/types.h>

#include <vector>

#include "base/result.h"

namespace heaptap::collect {

// The error is that of the first that can't: its cause, and what can be done.
base::Result<> check_processes(const std::vector<pid_t>& processes);

}  // namespace heaptap::collect
