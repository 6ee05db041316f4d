// Prefetch hints.
#pragma once
#include <stdint.h>

namespace heaptap::arch::arm {

// Prefetches the line at `address`. Never faults at any address (Arm ARM for ARMv7-A, A8.8.126, PLD). PLDW, for writing, isn't on
// every CPU.
inline void prefetch_for_write(const uint8_t* address) { asm volatile("pld [%0]" : : "r"(address)); }

}  // namespace heaptap::arch::arm
