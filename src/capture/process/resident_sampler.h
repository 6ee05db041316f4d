// Samples of a process's resident memory, taken from outside while it runs: one read of /proc/PID/status each (about 50 µs).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/unique_fd.h"
#include "common/model/resident.h"

namespace heaptap::process {

// Of the text of /proc/PID/status; without a time. None: the text doesn't have all of a sample's amounts (the process
// has ended), or impossible ones.
std::optional<model::ResidentSample> read_resident(std::string_view status);

// Intervals between samples: they double after each kSamplesEach samples, so their number grows with the logarithm of
// the time.
struct ResidentRhythm {
  static constexpr uint64_t kFirstNs = 20'000'000;
  static constexpr uint64_t kSamplesEach = 512;

  // `samples`: taken before.
  static uint64_t interval_ns(uint64_t samples);
};

class ResidentSampler {
 public:
  explicit ResidentSampler(pid_t process);

  // By the rhythm. Times are of one monotonic clock.
  [[nodiscard]] bool is_due(uint64_t now_ns) const { return now_ns >= due_ns_; }
  // Now, due or not. The sample is without a time. None: the process has ended, has executed another program, or can't be read.
  std::optional<model::ResidentSample> take(uint64_t now_ns);

 private:
  base::UniqueFd status_;
  uint64_t due_ns_ = 0;
  uint64_t count_ = 0;       // of samples that were due
  uint64_t peak_bytes_ = 0;  // highest seen
};

}  // namespace heaptap::process
