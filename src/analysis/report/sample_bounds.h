// Bounds of sums that were estimated from sampled blocks.
#pragma once
#include <cstdint>

namespace heaptap::report {

inline constexpr double kSampleConfidence = 0.95;

struct Bounds {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Bounds&) const = default;
};

// The true sum of bytes lies within them with kSampleConfidence at least. Where blocks are small against the interval, an estimate is the
// number of samples times the interval, and that number has a Poisson distribution: these are its limits. Of larger blocks more is
// recorded than that, so that the estimate is better. `interval` in bytes; 0: the sum is exact.
Bounds bounds_of(uint64_t estimated_bytes, uint64_t interval);

// The same of the peak of estimated live bytes: chance lifts a maximum over time, so that the lower bound is that of the luckiest of as
// many looks as the heap had independent states. These hang on how often the peak is contained in what was allocated.
Bounds bounds_of_peak(uint64_t peak_bytes, uint64_t allocated_bytes, uint64_t interval);

}  // namespace heaptap::report
