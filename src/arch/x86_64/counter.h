// Counters that one thread writes and others only read.
#pragma once
#include <stdint.h>

#include <atomic>

namespace heaptap::arch::x86_64 {

// One instruction without a lock: a signal handler of the same thread can't come in between, other threads could.
inline void add_own(std::atomic<uint64_t>& counter, uint64_t amount) {
  asm volatile("addq %1, %0" : "+m"(counter) : "er"(amount) : "cc");
}

}  // namespace heaptap::arch::x86_64
