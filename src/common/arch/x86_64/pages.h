// Page size, which the CPU determines.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

inline constexpr uintptr_t kSmallestPageBytes = 4096;
inline constexpr uintptr_t kLargestPageBytes = 4096;

}  // namespace heaptap::arch::x86_64
