#include "common/base/known.h"

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <optional>

namespace heaptap::base {
namespace {

using Number = Known<uint64_t>;

constexpr Number unknown(uint64_t counted) { return {counted, false}; }

TEST(Known, PlainNumberIsKnown) {
  const Number number = 5;
  EXPECT_TRUE(number.is_known());
  EXPECT_EQ(number.if_known(), 5);
  EXPECT_TRUE(Number{}.is_known());
  EXPECT_EQ(Number{}.if_known(), 0);
}

TEST(Known, UnknownNumberKeepsWhatWasCounted) {
  Number number = 5;
  number.set_unknown();
  EXPECT_FALSE(number.is_known());
  EXPECT_EQ(number.if_known(), std::nullopt);
  EXPECT_EQ(number.counted(), 5);
}

TEST(Known, SeveralNumbersAreSetUnknownTogether) {
  Number one = 5;
  Known<double> other = 2.5;
  const Number third = 7;
  set_unknown(one, other);
  EXPECT_FALSE(one.is_known());
  EXPECT_FALSE(other.is_known());
  EXPECT_TRUE(third.is_known());
}

TEST(Known, SumIsKnownIfAllPartsAre) {
  Number sum;
  sum += 2;
  sum += 3;
  EXPECT_EQ(sum.if_known(), 5);
  sum += unknown(4);
  EXPECT_EQ(sum.if_known(), std::nullopt);
  EXPECT_EQ(sum.counted(), 9);
  sum += 1;
  EXPECT_FALSE(sum.is_known()) << "a known part doesn't make it known again";
  EXPECT_EQ(sum.counted(), 10);
}

TEST(Known, LargestIsKnownIfAllAre) {
  Number largest = 5;
  EXPECT_EQ(Number(largest).raise_to(7).if_known(), 7);
  EXPECT_EQ(Number(largest).raise_to(3).if_known(), 5);
  EXPECT_EQ(largest.raise_to(unknown(1)).if_known(), std::nullopt) << "the unknown one may be larger";
  EXPECT_EQ(largest.counted(), 5);
}

TEST(Known, UnknownNumberDecidesNoLimit) {
  EXPECT_EQ(Number(5).exceeds(4), true);
  EXPECT_EQ(Number(5).exceeds(5), false);
  EXPECT_EQ(unknown(5).exceeds(4), std::nullopt);
  EXPECT_EQ(unknown(0).exceeds(4), std::nullopt);
}

TEST(Known, UnknownNumberIsEqualToNoKnownOne) {
  EXPECT_EQ(Number(5), 5U);
  EXPECT_FALSE(unknown(5) == Number(5));
  EXPECT_EQ(unknown(5), unknown(5));
}

TEST(Known, UnknownNumberMayBeNonzero) {
  EXPECT_FALSE(Number(0).may_be_nonzero());
  EXPECT_TRUE(Number(5).may_be_nonzero());
  EXPECT_TRUE(unknown(0).may_be_nonzero());
}

// So that neither a comparison nor arithmetic forgets to ask.
static_assert(!std::totally_ordered<Number>);
static_assert(!std::equality_comparable<Number>);
static_assert(!std::convertible_to<Number, uint64_t>);

}  // namespace
}  // namespace heaptap::base
