#include "analysis/ledger/lifetime_histogram.h"

#include <algorithm>

namespace heaptap::ledger {

LifetimeHistogram::LifetimeHistogram(uint64_t resolution_ns) {
  const uint64_t resolution = std::max<uint64_t>(resolution_ns, 1);
  counts_.push_back({});
  counts_.push_back({.lowest_ns = resolution});
  constexpr uint64_t kLongest = 10'000'000'000'000'000'000U;
  for (uint64_t decade = 1; decade < kLongest; decade *= 10) {
    for (const uint64_t step : {1, 2, 5}) {
      const uint64_t bound = decade * step;
      if (bound > resolution) {
        counts_.push_back({.lowest_ns = bound});
      }
    }
  }
  for (size_t index = 0; index + 1 < counts_.size(); ++index) {
    counts_[index].limit_ns = counts_[index + 1].lowest_ns;
  }
  for (size_t width = 1; width < first_of_width_.size(); ++width) {
    const uint64_t shortest = uint64_t{1} << (width - 1);
    const auto above =
        std::upper_bound(counts_.begin(), counts_.end(), shortest,
                         [](uint64_t value, const LifetimeCount& count) { return value < count.lowest_ns; });
    first_of_width_[width] = static_cast<uint8_t>(above - counts_.begin() - 1);
  }
}

std::vector<LifetimeCount> LifetimeHistogram::classes() const {
  size_t used = counts_.size();
  while (used > 0 && counts_[used - 1].blocks == 0) {
    --used;
  }
  return {counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(used)};
}

}  // namespace heaptap::ledger
