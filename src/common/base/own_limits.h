// Resource limits and signal dispositions of heaptap itself. Those inherited at its start are for the program that it
// starts: heaptap raises its own where permitted, and restores the original ones for the program.
#pragma once
#include <sys/resource.h>

namespace heaptap::base::own_limits {

// Call at heaptap's start, before there are threads and children. Ignores signals of limits from now on: writes fail as
// on a full disk then.
void lift();

// Call in a child before it executes the program. Async-signal-safe.
void give_back();

// The limit for a started program.
rlimit of_program(__rlimit_resource_t resource);

}  // namespace heaptap::base::own_limits
