#include "capture/uplink/process_share.h"

#include <gtest/gtest.h>

namespace heaptap::uplink {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(ProcessShare, TheFirstFewHaveAllThatThereIs) {
  for (size_t others = 0; others < kFewProcesses; ++others) {
    EXPECT_EQ(table_bits_beside(others), stream::EventGuesses::kUsualTableBits);
    EXPECT_EQ(max_log_bytes_beside(others, 32 * kMiB, 512 * kMiB), 512 * kMiB);
  }
}

TEST(ProcessShare, ManyHaveNotManyTimesAsMuch) {
  constexpr uint64_t kUsualTable = 1;  // of the first ones
  double tables = 0;
  uint64_t logs = 0;
  for (size_t others = 0; others < 200; ++others) {
    tables += static_cast<double>(kUsualTable << table_bits_beside(others)) /
              static_cast<double>(uint64_t{1} << stream::EventGuesses::kUsualTableBits);
    logs += max_log_bytes_beside(others, 32 * kMiB, 512 * kMiB);
  }
  EXPECT_LT(tables, 30);
  EXPECT_LT(logs, 40 * 512 * kMiB);
}

TEST(ProcessShare, NobodyHasLessThanTheLeast) {
  for (const size_t others : {size_t{100}, size_t{10'000}, size_t{1} << 40}) {
    EXPECT_GE(table_bits_beside(others), stream::EventGuesses::kLeastTableBits);
    EXPECT_GE(max_log_bytes_beside(others, 32 * kMiB, 512 * kMiB), 32 * kMiB);
  }
  EXPECT_EQ(max_log_bytes_beside(100, 32 * kMiB, 32 * kMiB), 32 * kMiB);  // what the user said
}

}  // namespace
}  // namespace heaptap::uplink
