#include "capture/stream/log_room.h"

#include <gtest/gtest.h>

namespace heaptap::stream {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kAsked = 32 * kMiB;

TEST(LogBudget, IsAnEighthOfWhatThereWouldBeWithoutLogsAndNoMoreThanWasAskedFor) {
  struct Case {
    LogRoom room;
    uint64_t budget;
  };
  const Case cases[] = {
      {{.free_bytes = UINT64_MAX, .all_logs_bytes = 5 * kMiB, .asked_bytes = kAsked}, kAsked},
      {{.free_bytes = 16384 * kMiB, .asked_bytes = kAsked}, kAsked},
      {{.free_bytes = 256 * kMiB, .asked_bytes = kAsked}, 32 * kMiB},
      {{.free_bytes = 252 * kMiB, .all_logs_bytes = 4 * kMiB, .asked_bytes = kAsked}, 32 * kMiB},
      {{.free_bytes = 64 * kMiB, .asked_bytes = kAsked}, 8 * kMiB},
      {{.free_bytes = 64 * kMiB, .asked_bytes = 4 * kMiB}, 4 * kMiB},
      {{.free_bytes = 0, .all_logs_bytes = 8 * kMiB, .asked_bytes = kAsked}, kMiB},
      {{.free_bytes = 0, .asked_bytes = kAsked}, 0},
  };
  for (const Case& one : cases) EXPECT_EQ(log_budget(one.room), one.budget) << one.room.free_bytes;
}

TEST(LogBudget, IsLentOnceForAllLogs) {
  LogRoom room{.free_bytes = 1024 * kMiB, .all_logs_bytes = 30 * kMiB, .this_log_bytes = kMiB, .asked_bytes = kAsked};
  EXPECT_EQ(lendable_bytes(room, kMiB, false), kMiB);
  EXPECT_EQ(lendable_bytes(room, 4 * kMiB, false), 2 * kMiB);
  room.all_logs_bytes = 40 * kMiB;
  EXPECT_EQ(lendable_bytes(room, 4 * kMiB, false), 0u);
  EXPECT_EQ(lendable_bytes(room, 4 * kMiB, true), 4 * kMiB) << "threads keep some of it";
}

TEST(LogBudget, LogsThatAreNotUsedHaveHalfOfItTogether) {
  LogRoom room{.free_bytes = 1024 * kMiB, .asked_bytes = kAsked};
  EXPECT_EQ(log_share(room, 0), 8 * kMiB);
  EXPECT_EQ(log_share(room, 1), 8 * kMiB);
  EXPECT_EQ(log_share(room, 4), 4 * kMiB);
  EXPECT_EQ(log_share(room, 1000), kMiB / 2) << "as far as it is lent";
  room.free_bytes = 24 * kMiB;
  EXPECT_EQ(log_share(room, 1), 3 * kMiB / 2);
}

TEST(LogBudget, StacksKeepAnEighthOfWhatIsFree) {
  EXPECT_TRUE(may_keep({.free_bytes = 128 * kMiB}, 16 * kMiB));
  EXPECT_FALSE(may_keep({.free_bytes = 127 * kMiB}, 16 * kMiB));
  EXPECT_TRUE(may_keep({}, 1024 * kMiB)) << "unknown";
}

TEST(LogBudget, IsShortWhereFreeMemoryAllowsLessThanWasAskedFor) {
  EXPECT_FALSE(is_short({.free_bytes = UINT64_MAX, .asked_bytes = kAsked}));
  EXPECT_FALSE(is_short({.free_bytes = 200 * kMiB, .all_logs_bytes = 56 * kMiB, .asked_bytes = kAsked}));
  EXPECT_TRUE(is_short({.free_bytes = 200 * kMiB, .asked_bytes = kAsked}));
  EXPECT_FALSE(is_short({.free_bytes = 8 * kMiB, .asked_bytes = kMiB}));
}

TEST(LogBudget, EachLogHasALittle) {
  LogRoom room{.free_bytes = 0, .all_logs_bytes = 40 * kMiB, .this_log_bytes = 0, .asked_bytes = kAsked};
  EXPECT_EQ(lendable_bytes(room, kMiB, false), kLeastLogBytes);
  room.this_log_bytes = kLeastLogBytes;
  EXPECT_EQ(lendable_bytes(room, kMiB, false), 0u);
  EXPECT_EQ(lendable_bytes(room, kMiB, true), 0u) << "there is nothing";
  EXPECT_EQ(overdue_bytes(room), 0u);
}

TEST(LogBudget, WhatTheProgramNeedsMeanwhileIsGivenBack) {
  LogRoom room{.free_bytes = 60 * kMiB, .all_logs_bytes = 4 * kMiB, .this_log_bytes = 4 * kMiB, .asked_bytes = kAsked};
  EXPECT_EQ(overdue_bytes(room), 0u);
  room.free_bytes = 4 * kMiB;
  EXPECT_EQ(overdue_bytes(room), 3 * kMiB);
  room.free_bytes = 0;
  EXPECT_EQ(overdue_bytes(room), 3 * kMiB + kMiB / 2);
  room.this_log_bytes = kMiB;
  EXPECT_EQ(overdue_bytes(room), 7 * kMiB / 8) << "each its part, but for a little";
  room.free_bytes = 1024 * kMiB;
  EXPECT_EQ(overdue_bytes(room), 0u);
}

// All there is: nothing that is lent makes something overdue at once, but for threads.
TEST(LogBudget, WhatIsLentIsNotOverdue) {
  for (uint64_t free = 0; free <= 512 * kMiB; free = free * 2 + 12345) {
    for (uint64_t held = 0; held <= 64 * kMiB; held = held * 3 + 4097) {
      LogRoom room{.free_bytes = free, .all_logs_bytes = held, .this_log_bytes = held, .asked_bytes = kAsked};
      const uint64_t lent = lendable_bytes(room, 8 * kMiB, false);
      if (lent == 0) continue;
      room.all_logs_bytes += lent;
      room.this_log_bytes += lent;
      room.free_bytes -= std::min(room.free_bytes, lent);
      EXPECT_EQ(overdue_bytes(room), 0u) << free << " " << held;
    }
  }
}

}  // namespace
}  // namespace heaptap::stream
