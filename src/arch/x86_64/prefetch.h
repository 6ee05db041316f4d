// Hints to the caches.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// The line at `address` is going to be written. Never faults, whatever is there; a processor without the instruction passes
// over it (Intel SDM, volume 2, PREFETCHW).
inline void prefetch_for_write(const uint8_t* address) { asm volatile("prefetchw %0" : : "m"(*address)); }

}  // namespace heaptap::arch::x86_64
