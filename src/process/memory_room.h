// How much memory the machine, and the groups (cgroups) that a process is in, have left.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace heaptap::process {

struct MemoryRoom {
  uint64_t free_bytes = UINT64_MAX;  // UINT64_MAX: nobody says
  std::string group = {};            // that has the least left; empty: the machine
  uint64_t limit_bytes = 0;          // of that group
};

MemoryRoom free_memory_for(pid_t process);

}  // namespace heaptap::process
