// The tracer's process: out of reach of the terminal and of whoever kills heaptap, so that breakpoints are always taken out.
#pragma once
#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "tracer/tracer_client.h"

namespace heaptap::tracer {

// Forks it. `socket` is its end of the line, `other_socket` this side's, which is closed there.
base::Result<pid_t> start_guardian(base::UniqueFd socket, base::UniqueFd& other_socket, const TracerOptions& options);

}  // namespace heaptap::tracer
