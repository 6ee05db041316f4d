// Prefetch hints.
#pragma once
#include <stdint.h>

namespace heaptap::arch::powerpc {

// Prefetches the line at `address`. Never faults at any address (Power ISA, Book II, 4.3.2, dcbtst).
inline void prefetch_for_write(const uint8_t* address) { asm volatile("dcbtst 0, %0" : : "r"(address)); }

}  // namespace heaptap::arch::powerpc
