// The tracer's process: out of reach of the terminal and of whoever kills heaptap, so that breakpoints are always taken out.
#pragma once
#include <sys/types.h>

#include "tracer/tracer_line.h"

namespace heaptap::tracer {

// Forks it. `socket` is its end of the line, and is closed here. -1: errno says why.
pid_t start_guardian(int socket, int other_socket, const TracerOptions& options);

}  // namespace heaptap::tracer
