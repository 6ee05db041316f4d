// Memory description from the arguments of mmap and mprotect, in the kernel's numbers for this CPU. Freestanding.
#pragma once
#include <linux/mman.h>
#include <stdint.h>

#include "common/wire/mapping.h"

namespace heaptap::wire {

constexpr MappedAccess access_of_call(uint64_t protection) {
  if ((protection & PROT_WRITE) != 0) return MappedAccess::kWrite;
  return (protection & (PROT_READ | PROT_EXEC)) != 0 ? MappedAccess::kRead : MappedAccess::kNone;
}

constexpr MappedMemory memory_of_call(uint64_t protection, uint64_t flags) {
  const bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  const MappedSource source = (flags & MAP_ANONYMOUS) == 0                 ? MappedSource::kFile
                              : (flags & (MAP_STACK | MAP_GROWSDOWN)) != 0 ? MappedSource::kStack
                              : is_shared                                  ? MappedSource::kShared
                                                                           : MappedSource::kPrivate;
  return {source, access_of_call(protection)};
}

}  // namespace heaptap::wire
