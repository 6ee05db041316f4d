// Page size: 4 KiB; some kernels are built with larger ones (CONFIG_PAGE_SIZE of vendors).
#pragma once
#include <stdint.h>

namespace heaptap::arch::arm {

inline constexpr uintptr_t kSmallestPageBytes = 4096;
inline constexpr uintptr_t kLargestPageBytes = 65536;

}  // namespace heaptap::arch::arm
