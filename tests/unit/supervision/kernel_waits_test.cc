// When a thread that stands still in the kernel is told of.
#include "capture/supervision/kernel_waits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

namespace heaptap::supervision {
namespace {

// How often it is told of one with these states, a quarter of a second apart.
int told(std::string_view states) {
  KernelWait wait;
  KernelWait::Clock::time_point now{std::chrono::hours(1)};
  int count = 0;
  for (const char state : states) {
    count += wait.look(now, state == 'D') ? 1 : 0;
    now += KernelWaits::kBetween;
  }
  return count;
}

TEST(KernelWait, TellsOnceOfEachLongWait) {
  EXPECT_EQ(told("SRSRSRSRSRSR"), 0);
  EXPECT_EQ(told("DDDDSDDDDSDD"), 0);
  EXPECT_EQ(told("SDDDDD"), 1);
  EXPECT_EQ(told("DDDDDDDDDDDDDDDD"), 1);
  EXPECT_EQ(told("DDDDDSDDDDD"), 2);
}

TEST(KernelWaits, AreLookedForAtIntervals) {
  KernelWaits waits(getpid());
  const KernelWaits::Clock::time_point now{std::chrono::hours(1)};
  EXPECT_TRUE(waits.is_due(now));
  EXPECT_TRUE(waits.look(now).empty());
  EXPECT_FALSE(waits.is_due(now));
  EXPECT_TRUE(waits.is_due(now + KernelWaits::kBetween));
}

}  // namespace
}  // namespace heaptap::supervision
