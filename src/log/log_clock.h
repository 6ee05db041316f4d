// The clock that the times of a log's records are read from, for who isn't the agent: the processor's, or the log's own.
#pragma once
#include <atomic>
#include <cstdint>
#include <ctime>

#include "arch/native.h"
#include "wire/log.h"

namespace heaptap::log {

class LogClock {
 public:
  explicit LogClock(wire::LogHeader& log) : log_(log), is_counted_((log.flags & wire::kCountTime) != 0) {}

  // Now, in the log's ticks. What is counted is in nanoseconds, and this is what it is raised to: later counts are greater.
  [[nodiscard]] uint64_t now() const {
    if (!is_counted_) return arch::native::read_clock();
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    constexpr uint64_t kSecond = 1'000'000'000;
    return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
  }

  // Each time that is counted, and each reading that is shared, is at least this from now on.
  void raise(uint64_t now) {
    uint64_t before = log_.coarse_clock.load(std::memory_order_relaxed);
    while (before < now && !log_.coarse_clock.compare_exchange_weak(before, now, std::memory_order_seq_cst)) {
    }
  }

  // The time of an event of who records by itself all that happens.
  [[nodiscard]] uint64_t event_time() {
    if (!is_counted_) return arch::native::read_clock();
    return log_.coarse_clock.fetch_add(1, std::memory_order_seq_cst) + 1;
  }

 private:
  wire::LogHeader& log_;
  const bool is_counted_;
};

}  // namespace heaptap::log
