// Single-writer counters: one thread writes, others only read.
#pragma once
#include <stdint.h>

#include <atomic>

namespace heaptap::arch::x86_64 {

// One instruction without a lock prefix: atomic against a signal handler of the same thread, not against other threads.
inline void add_own(std::atomic<uint64_t>& counter, uint64_t amount) {
  asm volatile("addq %1, %0" : "+m"(counter) : "er"(amount) : "cc");
}

}  // namespace heaptap::arch::x86_64
