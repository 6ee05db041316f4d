// Check whether running processes can be attached to, before anything is stopped.
#pragma once
#include <sys/types.h>

#include <vector>

#include "common/base/result.h"

namespace heaptap::launch {

// The error is that of the first failure: its cause and remedy.
base::Result<> check_processes(const std::vector<pid_t>& processes);

}  // namespace heaptap::launch
