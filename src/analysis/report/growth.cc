#include "analysis/report/growth.h"

#include <algorithm>
#include <cstddef>

namespace heaptap::report {

bool grows_to_the_end(std::span<const uint64_t> live_bytes) {
  constexpr size_t kQuarters = 4;
  constexpr size_t kLeastIntervals = 4 * kQuarters;
  constexpr uint64_t kLeastStepDivisor = 20;
  if (live_bytes.size() < kLeastIntervals) return false;
  const uint64_t end = live_bytes.back();
  const uint64_t most = std::ranges::max(live_bytes);
  if (end < most - most / 10) return false;
  uint64_t before = 0;
  for (size_t quarter = 1; quarter <= kQuarters; ++quarter) {
    const uint64_t now = live_bytes[live_bytes.size() * quarter / kQuarters - 1];
    if (now < before || now - before <= end / kLeastStepDivisor) return false;
    before = now;
  }
  return true;
}

}  // namespace heaptap::report
