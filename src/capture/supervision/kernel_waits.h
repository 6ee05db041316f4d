// Stall detection for threads blocked in the kernel longer than anything there should take: heaptap's own, and the
// tracer's. Processes held by the tracer stall with it, and the user must be informed.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heaptap::supervision {

// Wait state of one thread.
class KernelWait {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTooLong{1000};

  // Updates whether it waits. True: it has waited for too long; once for each wait.
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
  std::optional<Clock::time_point> since_;  // waiting in all checks since
  bool is_told_ = false;
};

struct StandingThread {
  pid_t thread = 0;
  bool looks = false;      // one of the threads that may be abandoned (common/base/bounded_calls.h)
  std::string place = {};  // in the kernel; empty: unknown
  std::string file = {};   // that it waits for, if its system call shows that
};

// Wait states of all threads of one process.
class KernelWaits {
 public:
  using Clock = KernelWait::Clock;
  static constexpr std::chrono::milliseconds kBetween{250};

  explicit KernelWaits(pid_t process) : process_(process) {}

  [[nodiscard]] bool is_due(Clock::time_point now) const { return now - looked_at_ >= kBetween; }
  // Threads that have been blocked for too long, once each.
  std::vector<StandingThread> look(Clock::time_point now);

 private:
  const pid_t process_;
  Clock::time_point looked_at_{};
  std::map<pid_t, KernelWait> threads_;
};

}  // namespace heaptap::supervision
