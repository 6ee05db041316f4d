// Maker of a userfaultfd for another process: the kernel makes one only for the process that asks, so a thread of that
// process is made to ask. All its threads are stopped meanwhile, as for a scan; the descriptor is closed
// there before they continue, and nothing of it remains in the process.
#pragma once
#include <sys/types.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::tracer {

// For process::WriteWatch. `process` must not be traced. Works in a process of its own, which finishes what it has
// begun if this one is killed. The error says why there is none.
base::Result<base::UniqueFd> make_userfault_of(pid_t process);

}  // namespace heaptap::tracer
