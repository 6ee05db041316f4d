// Single-writer counters: one thread writes, others only read.
#pragma once
#include <stdint.h>

#include <atomic>

namespace heaptap::arch::aarch64 {

// Atomic against a signal handler of the same thread, not more: a handler's own access clears the monitor, so that the store fails and
// the addition is made again.
inline void add_own(std::atomic<uint64_t>& counter, uint64_t amount) {
  uint64_t value;
  uint32_t failed;
  asm volatile(
      "1: ldxr %0, %2\n\t"
      "add %0, %0, %3\n\t"
      "stxr %w1, %0, %2\n\t"
      "cbnz %w1, 1b"
      : "=&r"(value), "=&r"(failed), "+Q"(counter)
      : "r"(amount));
}

}  // namespace heaptap::arch::aarch64
