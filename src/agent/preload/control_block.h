// glibc's thread control block (struct pthread), found from the thread pointer.
#pragma once
#include <stdint.h>

#include "agent/preload/real_functions.h"
#include "common/arch/native.h"

namespace heaptap::agent {

// The calling thread's, not yet proven to be one; 0: unknown. Where it ends at the thread pointer, glibc says its size: it has that for
// debuggers.
inline uintptr_t control_block() {
  const uintptr_t pointer = arch::native::thread_pointer();
  if (!arch::native::kControlBlockIsBelow) return pointer;
  constexpr uint32_t kMaxBytes = 65536;
  const auto* const bytes = static_cast<const uint32_t*>(g_real.other[static_cast<uint8_t>(Other::kControlBlockBytes)]);
  return bytes != nullptr && *bytes < kMaxBytes && pointer > kMaxBytes ? pointer - *bytes : 0;
}

}  // namespace heaptap::agent
