// When a tracer that stands still in the kernel is told of.
#include "collect/tracer_watch.h"

#include <gtest/gtest.h>

#include <string_view>

namespace heaptap::collect {
namespace {

// How often it is told of one with these states, a quarter of a second apart.
int told(std::string_view states) {
  TracerWatch watch;
  TracerWatch::Clock::time_point now{std::chrono::hours(1)};
  int count = 0;
  for (const char state : states) {
    EXPECT_TRUE(watch.is_due(now));
    count += watch.look(now, state) ? 1 : 0;
    EXPECT_FALSE(watch.is_due(now));
    now += TracerWatch::kBetween;
  }
  return count;
}

TEST(TracerWatch, TellsOnceOfEachLongWait) {
  EXPECT_EQ(told("SRSRSRSRSRSR"), 0);
  EXPECT_EQ(told("DDDDSDDDDSDD"), 0);
  EXPECT_EQ(told("SDDDDD"), 1);
  EXPECT_EQ(told("DDDDDDDDDDDDDDDD"), 1);
  EXPECT_EQ(told("DDDDDSDDDDD"), 2);
}

}  // namespace
}  // namespace heaptap::collect
