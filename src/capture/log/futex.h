// Futexes in shared memory between processes: futex(2), for any mapping of the word.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace heaptap::log {

// Wakes all waiters.
inline void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Waits until the word isn't `value`, for a wake-up, or for that many milliseconds. -1 with errno: not woken.
inline long futex_wait(std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds) {
  // The call's own form of a time, on CPUs of 32 bits not that of the C library. A span of time fits everywhere.
  struct Span {
    long seconds;
    long nanoseconds;
  };
  const Span limit{static_cast<long>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1'000'000};
  return syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

}  // namespace heaptap::log
