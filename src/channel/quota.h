// How often something is said, so that whoever comes often doesn't fill a log: 5 times at once, then once each 2 s.
#pragma once
#include <algorithm>
#include <chrono>

namespace heaptap::channel {

class Quota {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Whether it may be said now. It counts if so.
  bool take(Time now) {
    if (used_up_until_ > now + (kAtOnce - 1) * kInterval) return false;
    used_up_until_ = std::max(used_up_until_, now) + kInterval;
    return true;
  }

 private:
  static constexpr int kAtOnce = 5;
  static constexpr std::chrono::milliseconds kInterval{2'000};

  Time used_up_until_{};  // all that was said is forgotten then
};

}  // namespace heaptap::channel
