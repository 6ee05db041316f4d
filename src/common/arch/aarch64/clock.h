// Clock of the generic timer. Source: Arm Architecture Reference Manual for A-profile, D11 (the generic timer), D24.10 (CNTVCT_EL0).
#pragma once
#include <stdint.h>

namespace heaptap::arch::aarch64 {

// None that events may be ordered by: the counter ticks with 1 to 1,000 MHz, 24 to 100 MHz in most machines, and a block goes from one
// thread to another within a tick of these. So events are counted.
inline constexpr const char* kKernelClock = nullptr;
inline bool clock_is_invariant() { return false; }

// A reading may be executed early, so an instruction barrier comes before it where it must be behind earlier loads.
inline uint64_t read_clock() {
  uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}

inline uint64_t read_clock_behind() {
  uint64_t ticks = 0;
  asm volatile("dmb ishld\n\tisb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
}

inline uint64_t read_clock_in_order() {
  uint64_t ticks = 0;
  asm volatile("dmb ish\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
}

}  // namespace heaptap::arch::aarch64
