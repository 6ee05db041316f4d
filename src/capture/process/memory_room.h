// Free memory of the machine, and of the control groups of a process.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace heaptap::process {

struct MemoryRoom {
  uint64_t free_bytes = UINT64_MAX;  // UINT64_MAX: unknown
  std::string group = {};            // the group with the least left; empty: the machine
  uint64_t limit_bytes = 0;          // of that group
};

MemoryRoom free_memory_for(pid_t process);

}  // namespace heaptap::process
