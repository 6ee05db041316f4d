// Rate limit of log messages, so that frequent peers don't fill a log: a burst of 5, then one each 2 s.
#pragma once
#include <algorithm>
#include <chrono>

namespace heaptap::channel {

class Quota {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Whether a message is permitted now, which is then counted.
  bool take(Time now) {
    if (used_up_until_ > now + (kAtOnce - 1) * kInterval) return false;
    used_up_until_ = std::max(used_up_until_, now) + kInterval;
    return true;
  }

 private:
  static constexpr int kAtOnce = 5;
  static constexpr std::chrono::milliseconds kInterval{2'000};

  Time used_up_until_{};  // then the whole burst is available again
};

}  // namespace heaptap::channel
