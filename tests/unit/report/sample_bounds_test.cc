#include "analysis/report/sample_bounds.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heaptap::report {
namespace {

constexpr uint64_t kInterval = 1'000'000;

// Probability of at most `count` events, where `mean` are expected.
double at_most(uint64_t count, double mean) {
  double term = std::exp(-mean);
  double sum = term;
  for (uint64_t i = 1; i <= count; ++i) sum += term *= mean / static_cast<double>(i);
  return sum;
}

double in_samples(uint64_t bytes) { return static_cast<double>(bytes) / kInterval; }

// Against the definition of the exact limits: with them as the mean, what was seen is just as likely as the confidence allows.
TEST(SampleBounds, AreThoseOfAPoissonDistribution) {
  for (uint64_t samples = 1; samples <= 600; ++samples) {
    const Bounds bounds = bounds_of(samples * kInterval, kInterval);
    // Of a single sample the lower one is lower than it need be.
    EXPECT_NEAR(1 - at_most(samples - 1, in_samples(bounds.low)), samples == 1 ? 0.013 : 0.025, 0.004) << samples;
    EXPECT_NEAR(at_most(samples, in_samples(bounds.high)), 0.025, 0.004) << samples;
  }
}

TEST(SampleBounds, OfNothingAreWhatMayHaveBeenMissed) {
  const Bounds bounds = bounds_of(0, kInterval);
  EXPECT_EQ(bounds.low, 0u);
  EXPECT_NEAR(in_samples(bounds.high), 3.69, 0.05);
}

TEST(SampleBounds, OfAPeakAllowForTheLuckiestMoment) {
  const Bounds of_one_look = bounds_of(32 * kInterval, kInterval);
  const Bounds of_many = bounds_of_peak(32 * kInterval, 32'000 * kInterval, kInterval);
  EXPECT_EQ(of_many.high, of_one_look.high);
  // With 1,000 looks at 16 samples on average, the luckiest one had about 30.
  EXPECT_LT(of_many.low, 16 * kInterval);
  EXPECT_GT(of_many.low, 8 * kInterval);
  EXPECT_EQ(bounds_of_peak(0, 0, kInterval), bounds_of(0, kInterval));
}

TEST(SampleBounds, OfExactSumsAreTheSum) { EXPECT_EQ(bounds_of(12'345, 0), (Bounds{12'345, 12'345})); }

TEST(SampleBounds, HoldOfTheLargestSums) {
  const Bounds bounds = bounds_of(UINT64_MAX, uint64_t{1} << 40);
  EXPECT_LT(bounds.low, UINT64_MAX);
  EXPECT_GT(bounds.high, UINT64_MAX / 2);
  EXPECT_EQ(bounds_of(UINT64_MAX / 2, 1).high >= UINT64_MAX / 2, true);
}

}  // namespace
}  // namespace heaptap::report
