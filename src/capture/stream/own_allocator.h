// Allocators inside an executable, which a preloaded library can't interpose.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace heaptap::stream {

enum class OwnAllocator : uint8_t {
  kNone,
  kMalloc,  // functions with the C library's names, exported or not
  kGo,      // the Go runtime's, which has no such names
};

// Detects one in the executable, in the process's view. None: unreadable, or stripped without evidence.
OwnAllocator own_allocator_of(pid_t process, const std::string& executable);

}  // namespace heaptap::stream
