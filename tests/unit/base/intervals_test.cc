#include "common/base/intervals.h"

#include <gtest/gtest.h>

namespace heaptap::base {
namespace {

using std::chrono::milliseconds;

TEST(IntervalsTest, ThoseThatAreNamedAreShorterAndTheOthersAsUsual) {
  const auto intervals = parse_intervals("heartbeat=100ms,silence=300ms,write=20ms");
  ASSERT_TRUE(intervals);
  EXPECT_EQ(intervals->heartbeat, milliseconds(100));
  EXPECT_EQ(intervals->silence, milliseconds(300));
  EXPECT_EQ(intervals->write, milliseconds(20));
  EXPECT_EQ(intervals->retry, Intervals{}.retry);
  EXPECT_EQ(intervals->look, Intervals{}.look);
}

TEST(IntervalsTest, TheBoundsAreAllowed) {
  EXPECT_TRUE(parse_intervals("write=5ms"));
  EXPECT_TRUE(parse_intervals("write=1000ms"));
  EXPECT_TRUE(parse_intervals("heartbeat=100ms,silence=200ms"));
}

TEST(IntervalsTest, WhatMakesNoSenseIsIgnoredAsAWhole) {
  for (const char* text : {"",
                           ",",
                           "=",
                           "write",
                           "write=",
                           "write=20",
                           "write=20s",
                           "write= 20ms",
                           "write=-20ms",
                           "write=+20ms",
                           "write=0x20ms",
                           "write=20ms,",
                           ",write=20ms",
                           "write=20ms;look=20ms",
                           "write=20ms,write=30ms",
                           "Write=20ms",
                           "wait=20ms",
                           "write=2.5ms",
                           "write=99999999999999999999ms",
                           "write=20ms look=20ms"}) {
    EXPECT_FALSE(parse_intervals(text)) << text;
  }
}

TEST(IntervalsTest, NoneIsLongerThanUsualOrShorterThanAFewMilliseconds) {
  for (const char* text : {"write=1001ms", "heartbeat=2001ms", "silence=10001ms", "retry=2001ms", "look=2001ms",
                           "write=4ms", "look=0ms"}) {
    EXPECT_FALSE(parse_intervals(text)) << text;
  }
}

TEST(IntervalsTest, WhoIsThereIsHeardBeforeItCountsAsGone) {
  EXPECT_FALSE(parse_intervals("silence=500ms")) << "shorter than the heartbeat that is usual";
  EXPECT_FALSE(parse_intervals("heartbeat=100ms,silence=199ms"));
}

}  // namespace
}  // namespace heaptap::base
