#include "analysis/report/sample_bounds.h"

#include <algorithm>
#include <cmath>

namespace heaptap::report {
namespace {

constexpr double kDeviations = 1.959964;  // of the normal distribution, for kSampleConfidence from both sides

// Limits of a Poisson distribution's mean, by the cube root that Wilson and Hilferty made normal: never narrower than
// they should be, and exact to 1 % from two samples on.
double low_of(double samples, double deviations) {
  if (samples <= 0) return 0;
  const double root = 1 - 1 / (9 * samples) - deviations / (3 * std::sqrt(samples));
  return samples * std::pow(std::max(root, 0.0), 3);
}

double high_of(double samples) {
  const double next = samples + 1;
  return next * std::pow(1 - 1 / (9 * next) + kDeviations / (3 * std::sqrt(next)), 3);
}

uint64_t rounded(double bytes) {
  constexpr double kMax = 1.8e19;
  return static_cast<uint64_t>(std::min(bytes, kMax));
}

}  // namespace

Bounds bounds_of(uint64_t estimated_bytes, uint64_t interval) {
  if (interval == 0) return {estimated_bytes, estimated_bytes};
  const auto each = static_cast<double>(interval);
  const double samples = static_cast<double>(estimated_bytes) / each;
  return {rounded(low_of(samples, kDeviations) * each), rounded(high_of(samples) * each)};
}

Bounds bounds_of_peak(uint64_t peak_bytes, uint64_t allocated_bytes, uint64_t interval) {
  Bounds bounds = bounds_of(peak_bytes, interval);
  if (interval == 0 || peak_bytes == 0) return bounds;
  const auto peak = static_cast<double>(peak_bytes);
  // While the heap is replaced once, chance has as many tries as the square of the deviations that it gets to, about 4.
  constexpr double kLooksATurn = 16;
  const double looks = kLooksATurn * (1 + static_cast<double>(allocated_bytes) / peak);
  // As many deviations as leave the same chance to all looks together; the square root is more than these, and so on the safe side.
  const double deviations = std::sqrt(-2 * std::log((1 - kSampleConfidence) / 2 / looks));
  const auto each = static_cast<double>(interval);
  bounds.low = std::min(bounds.low, rounded(low_of(peak / each, deviations) * each));
  return bounds;
}

}  // namespace heaptap::report
