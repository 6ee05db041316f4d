// Prefetch hints.
#pragma once
#include <stdint.h>

namespace heaptap::arch::aarch64 {

// Prefetches the line at `address` for writing. Never faults at any address (Arm ARM, C6.2, PRFM).
inline void prefetch_for_write(const uint8_t* address) { asm volatile("prfm pstl1keep, [%0]" : : "r"(address)); }

}  // namespace heaptap::arch::aarch64
