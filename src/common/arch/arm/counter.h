// Single-writer counters: one thread writes, others only read.
#pragma once
#include <stdint.h>

#include <atomic>

namespace heaptap::arch::arm {

// Atomic against a signal handler of the same thread, not more: the kernel clears the monitor as it enters the handler, so that the store
// fails and the addition is made again. Both words are written at once: a reader never sees half of a number.
inline void add_own(std::atomic<uint64_t>& counter, uint64_t amount) {
  uint64_t value;
  uint32_t failed;
  asm volatile(
      "1: ldrexd %Q0, %R0, %2\n\t"
      "adds %Q0, %Q0, %Q3\n\t"
      "adc %R0, %R0, %R3\n\t"
      "strexd %1, %Q0, %R0, %2\n\t"
      "cmp %1, #0\n\t"
      "bne 1b"
      : "=&r"(value), "=&r"(failed), "+Q"(counter)
      : "r"(amount)
      : "cc");
}

}  // namespace heaptap::arch::arm
