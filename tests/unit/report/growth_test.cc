#include "analysis/report/growth.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::report {
namespace {

// Live bytes at the end of each of `count` intervals.
template <typename Live>
bool grows(size_t count, Live live) {
  std::vector<uint64_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = live(i);
  return grows_to_the_end(bytes);
}

TEST(Growth, IsSteadyGrowthUpToTheEnd) {
  EXPECT_TRUE(grows(100, [](size_t i) { return 1000 * i; }));
  EXPECT_TRUE(grows(100, [](size_t i) { return 1'000'000 + 20'000 * i + 3'000 * (i % 5); })) << "with small waves";
}

TEST(Growth, IsNotWhatEndsBeforeTheEnd) {
  EXPECT_FALSE(grows(100, [](size_t i) { return 1000 * (i < 50 ? i : 50); })) << "a plateau";
  EXPECT_FALSE(grows(100, [](size_t i) { return i < 99 ? 1000 * i : 0; })) << "all is freed at the end";
  EXPECT_FALSE(grows(100, [](size_t) { return 5000; })) << "constant";
  EXPECT_FALSE(grows(100, [](size_t i) { return 1000 * (100 - i); })) << "it shrinks";
  EXPECT_FALSE(grows(100, [](size_t i) { return i == 0 ? 0 : 100'000 + i; })) << "one step at the beginning";
}

TEST(Growth, IsNotToldOfFewIntervals) {
  EXPECT_FALSE(grows(0, [](size_t) { return 0; }));
  EXPECT_FALSE(grows(8, [](size_t i) { return 1000 * i; }));
}

TEST(Growth, HoldsForSizesBeyondFourGigabytes) {
  EXPECT_TRUE(grows(64, [](size_t i) { return (uint64_t{1} << 40) * i; }));
}

}  // namespace
}  // namespace heaptap::report
