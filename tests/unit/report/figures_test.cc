#include <gtest/gtest.h>

#include "analysis/report/comparison.h"

namespace heaptap::report {
namespace {

Figures with(Figure figure, std::optional<uint64_t> value) {
  Figures figures;
  figures.set(figure, value);
  return figures;
}

TEST(Figures, AreUnknownUntilTheyAreSet) {
  Figures figures = with(Figure::kReleases, 0);
  EXPECT_EQ(figures[Figure::kReleases], 0U);
  EXPECT_EQ(figures[Figure::kTemporary], std::nullopt);
  figures.set(Figure::kReleases, std::nullopt);
  EXPECT_EQ(figures, Figures()) << "what it was is forgotten";
}

TEST(Figures, ASumWithSomethingUnknownIsUnknown) {
  Figures sum = with(Figure::kLiveBytes, 8);
  sum += with(Figure::kLiveBytes, 16);
  EXPECT_EQ(sum[Figure::kLiveBytes], 24U);
  sum += Figures();
  EXPECT_EQ(sum[Figure::kLiveBytes], std::nullopt);
  sum += with(Figure::kLiveBytes, 1);
  EXPECT_EQ(sum, Figures());
}

}  // namespace
}  // namespace heaptap::report
