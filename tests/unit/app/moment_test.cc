#include "apps/heaptap/options/moment.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace heaptap::app {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kTenSeconds = 10 * kSecond;

using Moments = std::vector<uint64_t>;

TEST(Moments, OneEverySoOftenAndTheEnd) {
  EXPECT_EQ(moments_of({.at = {}, .every_ns = 4 * kSecond}, kTenSeconds, {}),
            (Moments{4 * kSecond, 8 * kSecond, 10 * kSecond}));
  EXPECT_EQ(moments_of({.at = {}, .every_ns = 5 * kSecond}, kTenSeconds, {}), (Moments{5 * kSecond, 10 * kSecond}));
  EXPECT_EQ(moments_of({.at = {}, .every_ns = 60 * kSecond}, kTenSeconds, {}), (Moments{10 * kSecond}));
}

TEST(Moments, AscendAndAreThereOnce) {
  EXPECT_EQ(moments_of({.at = {"end", "2s", "start", "2000ms"}, .every_ns = 5 * kSecond}, kTenSeconds, {}),
            (Moments{0, 2 * kSecond, 5 * kSecond, 10 * kSecond}));
}

TEST(Moments, NoneIsLaterThanTheEnd) {
  EXPECT_FALSE(moments_of({.at = {"10001ms"}, .every_ns = {}}, kTenSeconds, {}));
  EXPECT_TRUE(moments_of({.at = {"10s"}, .every_ns = {}}, kTenSeconds, {}));
}

TEST(Moments, ARecordingThatSaysToBeEndlessHasNotEndlesslyMany) {
  constexpr uint64_t kEndless = ~uint64_t{0};
  EXPECT_FALSE(moments_of({.at = {}, .every_ns = 1}, kEndless, {}));
  EXPECT_EQ(moments_of({.at = {}, .every_ns = ~uint64_t{0} / 9'999}, kEndless, {})->size(), 10'000U);
}

}  // namespace
}  // namespace heaptap::app
