// The clock that orders events: cheap, the same on all cores, never goes back. x86-64: the invariant time-stamp counter.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

inline constexpr const char* kKernelClock = "tsc";

// Not ordered against earlier loads: the reading may be from before the moment at which they have their values.
inline uint64_t read_clock() { return __builtin_ia32_rdtsc(); }

// Not before all earlier loads have their values. Stores that follow are seen after it: they wait until it is done.
inline uint64_t read_clock_behind() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
  return uint64_t{high} << 32 | low;
}

// Behind all loads and stores that were begun before and are done, before all loads that follow (Intel SDM, volume 2, RDTSC).
inline uint64_t read_clock_in_order() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return uint64_t{high} << 32 | low;
}

// Whether the counter goes on at one rate whatever the processor does to save power (CPUID 8000_0007h, EDX bit 8).
inline bool clock_is_invariant() {
  uint32_t a = 0x80000000;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (a < 0x80000007) return false;
  a = 0x80000007;
  c = 0;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (d >> 8 & 1) != 0;
}

}  // namespace heaptap::arch::x86_64
