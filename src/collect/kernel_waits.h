// Threads that stand still in the kernel for longer than anything there takes: heaptap's own, and the tracer's. What the tracer holds
// stands still with it, and somebody has to be told.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heaptap::collect {

// Of one thread.
class KernelWait {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTooLong{1000};

  // Whether it waits now. True: it has waited for too long; once for each such time.
  bool look(Clock::time_point now, bool waits) {
    if (!waits) {
      since_.reset();
      is_told_ = false;
      return false;
    }
    if (!since_) since_ = now;
    if (is_told_ || now - *since_ < kTooLong) return false;
    is_told_ = true;
    return true;
  }

 private:
  std::optional<Clock::time_point> since_;  // at all looks since
  bool is_told_ = false;
};

struct StandingThread {
  pid_t thread = 0;
  bool looks = false;      // one of those that are given up (base/bounded_calls.h)
  std::string place = {};  // in the kernel; empty: it isn't told
  std::string file = {};   // that it waits for, where its system call tells
};

// Of all threads of one process.
class KernelWaits {
 public:
  using Clock = KernelWait::Clock;
  static constexpr std::chrono::milliseconds kBetween{250};

  explicit KernelWaits(pid_t process) : process_(process) {}

  [[nodiscard]] bool is_due(Clock::time_point now) const { return now - looked_at_ >= kBetween; }
  // Those that have stood still for too long, each of them once.
  std::vector<StandingThread> look(Clock::time_point now);

 private:
  const pid_t process_;
  Clock::time_point looked_at_{};
  std::map<pid_t, KernelWait> threads_;
};

}  // namespace heaptap::collect
