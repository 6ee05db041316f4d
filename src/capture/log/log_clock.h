// Clock of a log's records, for users other than the agent: the processor's, or the log's own.
#pragma once
#include <atomic>
#include <cstdint>
#include <ctime>

#include "common/arch/native.h"
#include "common/wire/log.h"

namespace heaptap::log {

class LogClock {
 public:
  explicit LogClock(wire::LogHeader& log) : log_(log), is_counted_((log.flags & wire::kCountTime) != 0) {}

  // Current time in the log's ticks. A counting clock is in nanoseconds, and this is what it is raised to: later counts are greater.
  [[nodiscard]] uint64_t now() const {
    if (!is_counted_) return arch::native::read_clock();
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    constexpr uint64_t kSecond = 1'000'000'000;
    return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
  }

  // From now on each counted time and each shared reading is at least this.
  void raise(uint64_t now) {
    uint64_t before = log_.coarse_clock.load(std::memory_order_relaxed);
    while (before < now && !log_.coarse_clock.compare_exchange_weak(before, now, std::memory_order_seq_cst)) {
    }
  }

  // Time of an event, for a single writer that records everything.
  [[nodiscard]] uint64_t event_time() {
    if (!is_counted_) return arch::native::read_clock();
    return log_.coarse_clock.fetch_add(1, std::memory_order_seq_cst) + 1;
  }

 private:
  wire::LogHeader& log_;
  const bool is_counted_;
};

}  // namespace heaptap::log
