// Page size: 4 KiB; kernels for some of these CPUs are built with 16 or 64 KiB (CONFIG_PPC_16K_PAGES, CONFIG_PPC_64K_PAGES).
#pragma once
#include <stdint.h>

namespace heaptap::arch::powerpc {

inline constexpr uintptr_t kSmallestPageBytes = 4096;
inline constexpr uintptr_t kLargestPageBytes = 65536;

}  // namespace heaptap::arch::powerpc
