// How much memory the machine, and the groups (cgroups) that a process is in, have left.
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace heaptap::process {

// In bytes; UINT64_MAX: nobody says.
uint64_t free_memory_for(pid_t process);

}  // namespace heaptap::process
