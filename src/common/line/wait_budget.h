// Wait budget of one end of a line for an answer: extended while data arrives, since the answer may be queued on a slow
// line; but limited, since a trickling peer would block it forever.
#pragma once
#include <chrono>
#include <cstdint>

#include "common/base/stop_signals.h"
#include "common/line/reliable_line.h"

namespace heaptap::line {

struct PatienceLimits {
  std::chrono::nanoseconds silence;  // without any data
  std::chrono::nanoseconds in_all;
};

class WaitBudget {
 public:
  WaitBudget(PatienceLimits limits, const ReliableLine& line, TimePoint now)
      : limits_(limits), line_(line), progress_(line.progress()), heard_at_(now), began_at_(now) {}

  [[nodiscard]] bool is_over(TimePoint now) {
    if (const uint64_t progress = line_.progress(); progress != progress_) {
      progress_ = progress;
      heard_at_ = now;
    }
    return now - heard_at_ >= limits_.silence || now - began_at_ >= limits_.in_all;
  }
  // Whether a termination signal has arrived since it began.
  [[nodiscard]] bool is_interrupted() const { return base::stop_signals::requests() != requests_; }

 private:
  PatienceLimits limits_;
  const ReliableLine& line_;
  uint64_t progress_;
  TimePoint heard_at_;
  TimePoint began_at_;
  int requests_ = base::stop_signals::requests();
};

}  // namespace heaptap::line
