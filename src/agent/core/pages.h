// Pages of the program's memory.
#pragma once
#include <stdint.h>

#include "common/arch/native.h"

namespace heaptap::agent {

inline constexpr uintptr_t kPageBytes = arch::native::kPageBytes;

constexpr uintptr_t page_begin(uintptr_t address) { return address & ~(kPageBytes - 1); }

// Rounds up a size, or the end of a range.
constexpr uintptr_t whole_pages(uintptr_t bytes) { return page_begin(bytes + kPageBytes - 1); }

}  // namespace heaptap::agent
