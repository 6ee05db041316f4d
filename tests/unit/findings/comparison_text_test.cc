// Changes in words.
#include "analysis/findings/comparison_text.h"

#include <gtest/gtest.h>

namespace heaptap::findings {
namespace {

TEST(ComparisonText, ChangesArePercentUntilTheyAreManyTimesAsMuch) {
  EXPECT_EQ(percent_text(50, 1000), "+5.0%");
  EXPECT_EQ(percent_text(-1000, 1000), "-100.0%");
  EXPECT_EQ(percent_text(8999, 1000), "+899.9%");
  EXPECT_EQ(percent_text(9999, 1000), "+999.9%");
  EXPECT_EQ(percent_text(10'000, 1000), "11 times as much");
  EXPECT_EQ(percent_text(854'003, 7), "122,001 times as much");
  EXPECT_EQ(percent_text(INT64_MAX, 1), "9,223,372,036,854,775,808 times as much");
  EXPECT_EQ(percent_text(5, 0), "");
  EXPECT_EQ(percent_text(0, 5), "");
  EXPECT_EQ(percent_text(std::nullopt, 5), "");
}

}  // namespace
}  // namespace heaptap::findings
