// Pages of the program's memory.
#pragma once
#include <stdint.h>

#include "common/arch/native.h"

namespace heaptap::agent {

inline constexpr uintptr_t kLargestPageBytes = arch::native::kLargestPageBytes;

// Where the kernel's configuration determines the size: what it told the program. Until that is read, the smallest.
inline constinit uintptr_t g_page_bytes = arch::native::kSmallestPageBytes;

inline uintptr_t page_bytes() {
  return arch::native::kSmallestPageBytes == kLargestPageBytes ? kLargestPageBytes : g_page_bytes;
}

inline uintptr_t page_begin(uintptr_t address) { return address & ~(page_bytes() - 1); }

// Rounds up a size, or the end of a range.
inline uintptr_t whole_pages(uintptr_t bytes) { return page_begin(bytes + page_bytes() - 1); }

}  // namespace heaptap::agent
