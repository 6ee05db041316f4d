// Clock of events: cheap, the same on all cores, monotonic. x86-64: the invariant time-stamp counter.
#pragma once
#include <stdint.h>

namespace heaptap::arch::x86_64 {

inline constexpr const char* kKernelClock = "tsc";

// Not ordered after earlier loads: the reading may precede them.
inline uint64_t read_clock() { return __builtin_ia32_rdtsc(); }

// Ordered after all earlier loads. Later stores become visible after it.
inline uint64_t read_clock_behind() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
  return uint64_t{high} << 32 | low;
}

// Ordered after all earlier loads and stores, and before all later loads (Intel SDM, volume 2, RDTSC).
inline uint64_t read_clock_in_order() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return uint64_t{high} << 32 | low;
}

// Whether the counter's rate is constant in all power states (CPUID 8000_0007h, EDX bit 8).
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
