// Allocators that a program has inside its executable: nothing that is preloaded comes before them.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace heaptap::collect {

enum class OwnAllocator : uint8_t {
  kNone,
  kMalloc,  // functions of the C library's names, whether others see them or not
  kGo,      // the Go runtime's, which has no such names
};

// What the executable, as the process sees it, shows of one. None where it can't be read, or is stripped and shows nothing.
OwnAllocator own_allocator_of(pid_t process, const std::string& executable);

}  // namespace heaptap::collect
