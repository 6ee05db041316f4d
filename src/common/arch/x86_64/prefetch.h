// Prefetch hints.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// Prefetches the line at `address` for writing. Never faults at any address; a no-op on processors without the
// instruction (Intel SDM, volume 2, PREFETCHW).
inline void prefetch_for_write(const uint8_t* address) { asm volatile("prefetchw %0" : : "m"(*address)); }

}  // namespace heaptap::arch::x86_64
