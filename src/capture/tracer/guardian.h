// Guardian: the tracer's process, out of reach of the terminal and of signals that kill heaptap, so that breakpoints are always removed.
#pragma once
#include <sys/types.h>

#include "capture/tracer/tracer_client.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::tracer {

// Forks it. `socket` is its end of the connection, `other_socket` this side's, which is closed in the child.
base::Result<pid_t> start_guardian(base::UniqueFd socket, base::UniqueFd& other_socket, const TracerOptions& options);

}  // namespace heaptap::tracer
