#include "common/base/limit_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heaptap::base {
namespace {

void expect_wishes(rlim_t wanted, rlimit now, rlimit with_right, rlimit without_right) {
  const auto wishes = wishes_for(wanted, now);
  ASSERT_TRUE(wishes.has_value());
  EXPECT_EQ(wishes->with_right.rlim_cur, with_right.rlim_cur);
  EXPECT_EQ(wishes->with_right.rlim_max, with_right.rlim_max);
  EXPECT_EQ(wishes->without_right.rlim_cur, without_right.rlim_cur);
  EXPECT_EQ(wishes->without_right.rlim_max, without_right.rlim_max);
}

TEST(LimitRulesTest, WhatSufficesIsLeftAlone) {
  EXPECT_FALSE(wishes_for(100, {100, 100}).has_value());
  EXPECT_FALSE(wishes_for(100, {200, RLIM_INFINITY}).has_value());
  EXPECT_FALSE(wishes_for(RLIM_INFINITY, {RLIM_INFINITY, RLIM_INFINITY}).has_value());
}

TEST(LimitRulesTest, BeyondTheHardLimitOnlyWithTheRight) {
  expect_wishes(100, {10, 20}, {100, 100}, {20, 20});
  expect_wishes(100, {0, 0}, {100, 100}, {0, 0});
  expect_wishes(RLIM_INFINITY, {10, 20}, {RLIM_INFINITY, RLIM_INFINITY}, {20, 20});
}

TEST(LimitRulesTest, AHardLimitIsNeverLowered) {
  expect_wishes(100, {10, 100}, {100, 100}, {100, 100});
  expect_wishes(100, {10, 500}, {100, 500}, {100, 500});
  expect_wishes(100, {10, RLIM_INFINITY}, {100, RLIM_INFINITY}, {100, RLIM_INFINITY});
  expect_wishes(RLIM_INFINITY, {10, RLIM_INFINITY}, {RLIM_INFINITY, RLIM_INFINITY}, {RLIM_INFINITY, RLIM_INFINITY});
}

TEST(LimitRulesTest, TheRightIsAsked) {
  EXPECT_TRUE(may_go_beyond_limits("Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n"));
  EXPECT_TRUE(may_go_beyond_limits("Name:\tx\nCapEff:\t0000000001000000\n"));
  EXPECT_FALSE(may_go_beyond_limits("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t000001fffeffffff\n"));
  EXPECT_FALSE(may_go_beyond_limits("Name:\tx\nCapEff:\t0000000000000000\n"));
  EXPECT_FALSE(may_go_beyond_limits("Name:\tCapEff:\t000001ffffffffff\nCapEff:\t0\n"));  // a program's name
  EXPECT_FALSE(may_go_beyond_limits("Name:\tx\nCapEff:\t"));
  EXPECT_FALSE(may_go_beyond_limits(""));
}

TEST(LimitRulesTest, AGuardianHasTimeToDetach) {
  EXPECT_TRUE(is_time_enough({RLIM_INFINITY, RLIM_INFINITY}, false));
  EXPECT_TRUE(is_time_enough({1, 4}, false));
  EXPECT_FALSE(is_time_enough({1, 3}, false));
  EXPECT_FALSE(is_time_enough({0, 0}, false));
  EXPECT_TRUE(is_time_enough({0, 0}, true));
}

TEST(LimitRulesTest, AGuardianIsToldBeforeItIsEnded) {
  EXPECT_FALSE(limit_that_warns({10, RLIM_INFINITY}).has_value());
  for (const auto& [hard, soft] : {std::pair<rlim_t, rlim_t>{60, 58}, {4, 2}, {2, 0}, {1, 0}, {0, 0}}) {
    const auto warning = limit_that_warns({hard, hard});
    ASSERT_TRUE(warning.has_value());
    EXPECT_EQ(warning->rlim_cur, soft);
    EXPECT_EQ(warning->rlim_max, hard);
  }
}

TEST(LimitRulesTest, AGuardianIsTheLastToBeEnded) {
  const auto wishes = [](int now) {
    const auto adjustments = adjustments_for(now);
    return std::vector<int>(adjustments.begin(), adjustments.end());
  };
  EXPECT_EQ(wishes(0), std::vector<int>{-1000});
  EXPECT_EQ(wishes(-500), std::vector<int>{-1000});
  EXPECT_EQ(wishes(-1000), std::vector<int>{});
  EXPECT_EQ(wishes(1), (std::vector<int>{-1000, 0}));
  EXPECT_EQ(wishes(1000), (std::vector<int>{-1000, 0}));
}

TEST(LimitRulesTest, ALimitIsRaisedAsFarAsTheKernelAgrees) {
  rlimit whole{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &whole), 0);
  if (whole.rlim_max < 2) GTEST_SKIP() << "the machine's hard limit leaves no room";
  const rlimit low{1, whole.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &low), 0);
  rlimit before{};
  EXPECT_TRUE(raise_limit({RLIMIT_CORE, 2}, before));
  EXPECT_EQ(before.rlim_cur, 1u);
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 2u);
  EXPECT_FALSE(raise_limit({RLIMIT_CORE, 2}, before));
}

}  // namespace
}  // namespace heaptap::base
