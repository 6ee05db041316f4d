// Whether a scan is worth its pause where exit begins.
#include "capture/supervision/exit_start.h"

#include <gtest/gtest.h>

namespace heaptap::supervision {
namespace {

ExitStartCost cost_of(uint64_t anonymous_bytes, uint64_t blocks = 0, uint64_t last_pause_ns = 0) {
  return {.resident = model::ResidentSample{.anonymous_bytes = anonymous_bytes},
          .blocks = blocks,
          .last_pause_ns = last_pause_ns};
}

TEST(ExitStart, ASmallProgramIsScanned) { EXPECT_TRUE(is_worth_a_scan(cost_of(1 << 20, 1000, 1'000'000))); }

TEST(ExitStart, ALargeOneIsNot) {
  EXPECT_TRUE(is_worth_a_scan(cost_of(kMaxBytesAtExitStart)));
  EXPECT_FALSE(is_worth_a_scan(cost_of(kMaxBytesAtExitStart + 1)));
}

TEST(ExitStart, OneWithManyBlocksIsNot) {
  EXPECT_TRUE(is_worth_a_scan(cost_of(0, kMaxBlocksAtExitStart)));
  EXPECT_FALSE(is_worth_a_scan(cost_of(0, kMaxBlocksAtExitStart + 1)));
}

TEST(ExitStart, OneWhoseLastScanWasSlowIsNot) {
  EXPECT_TRUE(is_worth_a_scan(cost_of(0, 0, kMaxPauseBeforeExitStartNs)));
  EXPECT_FALSE(is_worth_a_scan(cost_of(0, 0, kMaxPauseBeforeExitStartNs + 1)));
}

TEST(ExitStart, OneOfUnknownSizeIsNot) { EXPECT_FALSE(is_worth_a_scan({.resident = {}})); }

TEST(ExitStart, SharedMemoryCountsWithoutTheLog) {
  ExitStartCost cost = cost_of(0);
  cost.resident->shared_bytes = 2 * kMaxBytesAtExitStart;
  EXPECT_FALSE(is_worth_a_scan(cost));
  cost.resident->log_bytes = kMaxBytesAtExitStart;
  EXPECT_TRUE(is_worth_a_scan(cost));
}

TEST(ExitStart, OnlyItsOwnNoticeIsOne) {
  wire::ExitNotice notice{};
  notice.kind = wire::ExitKind::kExit;
  EXPECT_FALSE(is_exit_start(notice));
  EXPECT_FALSE(is_exit_start(std::nullopt));
  notice.kind = wire::ExitKind::kExitBegins;
  EXPECT_TRUE(is_exit_start(notice));
}

}  // namespace
}  // namespace heaptap::supervision
