// Page size, which the kernel's configuration determines: 4, 16 or 64 KiB.
#pragma once
#include <stdint.h>

namespace heaptap::arch::aarch64 {

inline constexpr uintptr_t kSmallestPageBytes = 4096;
inline constexpr uintptr_t kLargestPageBytes = 65536;

}  // namespace heaptap::arch::aarch64
