// Whether the tracer stands still in the kernel: it waits there for nobody who may be held by itself, as far as is known. If it does all
// the same, what it traces stands still with it, and somebody has to be told.
#pragma once
#include <chrono>
#include <optional>

namespace heaptap::collect {

class TracerWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetween{250};
  static constexpr std::chrono::milliseconds kTooLong{1000};

  [[nodiscard]] bool is_due(Clock::time_point now) const { return now - looked_at_ >= kBetween; }
  // `state`: the tracer's, as /proc tells it now. True: it has waited for too long; once for each such time.
  bool look(Clock::time_point now, char state) {
    looked_at_ = now;
    if (state != 'D') {
      waits_since_.reset();
      is_told_ = false;
      return false;
    }
    if (!waits_since_) waits_since_ = now;
    if (is_told_ || now - *waits_since_ < kTooLong) return false;
    is_told_ = true;
    return true;
  }

 private:
  Clock::time_point looked_at_{};
  std::optional<Clock::time_point> waits_since_;  // at all looks since
  bool is_told_ = false;
};

}  // namespace heaptap::collect
