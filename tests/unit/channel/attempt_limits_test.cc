// Who fails to get in has to wait; who gets in, and others, have not.
#include "channel/attempt_limits.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptap::channel {
namespace {

using std::chrono::milliseconds;

const AttemptLimits::Time kStart{std::chrono::hours(1)};

TEST(AttemptLimits, FiveAtOnceThenOneEachTwoSeconds) {
  AttemptLimits limits;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limits.begin("a", kStart));
  EXPECT_FALSE(limits.begin("a", kStart));
  EXPECT_FALSE(limits.begin("a", kStart + milliseconds(1'999)));
  EXPECT_TRUE(limits.begin("a", kStart + milliseconds(2'000)));
  EXPECT_FALSE(limits.begin("a", kStart + milliseconds(3'999)));
  EXPECT_TRUE(limits.begin("a", kStart + milliseconds(4'000)));
  // All is forgotten after a while.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limits.begin("a", kStart + milliseconds(60'000)));
  EXPECT_FALSE(limits.begin("a", kStart + milliseconds(60'000)));
}

TEST(AttemptLimits, OneNetworkIsNoOther) {
  AttemptLimits limits;
  for (int i = 0; i < 9; ++i) (void)limits.begin("a", kStart);
  EXPECT_TRUE(limits.begin("b", kStart));
}

TEST(AttemptLimits, SuccessCostsNothing) {
  AttemptLimits limits;
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(limits.begin("a", kStart));
    limits.succeeded("a");
  }
}

TEST(AttemptLimits, ManyNetworksTogetherHaveALimit) {
  AttemptLimits limits;
  int begun = 0;
  for (int i = 0; i < 1'000; ++i) begun += limits.begin(std::to_string(i), kStart) ? 1 : 0;
  EXPECT_EQ(begun, 20);
  EXPECT_FALSE(limits.begin("last", kStart + milliseconds(499)));
  EXPECT_TRUE(limits.begin("last", kStart + milliseconds(500)));
  // However long they try: 2 each second.
  begun = 0;
  for (int i = 0; i < 100'000; ++i) begun += limits.begin(std::to_string(i), kStart + milliseconds(i)) ? 1 : 0;
  EXPECT_LE(begun, 200);
}

}  // namespace
}  // namespace heaptap::channel
