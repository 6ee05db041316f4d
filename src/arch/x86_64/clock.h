// The clock that orders events: cheap, the same on all cores, never goes back. x86-64: the invariant time-stamp counter.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

// Not ordered against earlier loads: the reading may be up to about 100 ns early. Who merges streams knows that.
inline uint64_t read_clock() { return __builtin_ia32_rdtsc(); }

// Behind all loads and stores that were begun before and are done, before all loads that follow (Intel SDM, volume 2, RDTSC).
inline uint64_t read_clock_in_order() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return uint64_t{high} << 32 | low;
}

}  // namespace heaptap::arch::x86_64
