// Which limits of growth hold, of made-up comparisons.
#include "analysis/findings/growth_verdict.h"

#include <gtest/gtest.h>

#include "analysis/findings/verdict.h"
#include "analysis/report/comparison.h"

namespace heaptap::findings {
namespace {

report::ComparedStack stack(const std::optional<uint64_t>& before, const std::optional<uint64_t>& after) {
  report::ComparedStack made;
  made.function = "malloc";
  made.sides.resize(2);
  made.sides[0].figures.set(report::Figure::kLiveBytes, before);
  made.sides[1].figures.set(report::Figure::kLiveBytes, after);
  made.state = report::StackState::kGrown;
  return made;
}

report::Comparison comparison(const std::vector<report::ComparedStack>& stacks) {
  report::Comparison made;
  made.recordings.resize(2);
  for (const size_t side : {0u, 1u}) {
    uint64_t sum = 0;
    for (const report::ComparedStack& each : stacks)
      sum += each.sides[side].figures[report::Figure::kLiveBytes].value_or(0);
    made.recordings[side].totals.set(report::Figure::kLiveBytes, sum);
  }
  made.stacks = stacks;
  return made;
}

GrowthEntry judged(const report::Comparison& compared, const report::GrowthLimit& limit,
                   report::Certainty certainty = report::Certainty::kExact, bool allow_incomplete = false) {
  return judge_growth(compared, limit, certainty, allow_incomplete, 3);
}

constexpr report::LimitKind kLive = report::LimitKind::kLive;

TEST(Growth, IsBeyondALimitByOneByte) {
  const auto compared = comparison({stack(100, 110), stack(100, 101)});
  EXPECT_FALSE(judged(compared, {.kind = kLive, .most = 11}).broken());
  EXPECT_TRUE(judged(compared, {.kind = kLive, .most = 10}).broken());
  EXPECT_FALSE(judged(compared, {.kind = kLive, .percent = 5.5}).broken());
  EXPECT_TRUE(judged(compared, {.kind = kLive, .percent = 5.4}).broken());
  EXPECT_FALSE(judged(comparison({stack(100, 10)}), {.kind = kLive, .most = 0}).broken());
}

TEST(Growth, OfEachStackIsThatOfTheOneThatGrewMost) {
  const auto compared = comparison({stack(100, 110), stack(100, 20), stack(0, 30)});
  const GrowthEntry entry = judged(compared, {.kind = kLive, .each_stack = true, .most = 20});
  EXPECT_TRUE(entry.broken());
  EXPECT_EQ(entry.growth, 30);
  EXPECT_EQ(entry.stacks.size(), 1u);
  EXPECT_FALSE(judged(compared, {.kind = kLive, .each_stack = true, .most = 30}).broken());
  EXPECT_FALSE(judged(compared, {.kind = kLive, .most = 0}).broken());
}

TEST(Growth, ThatIsNotKnownNeverPasses) {
  const auto compared = comparison({stack(100, 100)});
  for (const report::Certainty certainty :
       {report::Certainty::kAtLeast, report::Certainty::kUnknown, report::Certainty::kNone}) {
    EXPECT_TRUE(judged(compared, {.kind = kLive, .most = 1000}, certainty).unknown());
    EXPECT_FALSE(judged(compared, {.kind = kLive, .most = 1000}, certainty, true).unknown());
  }
  EXPECT_TRUE(judged(compared, {.kind = report::LimitKind::kLeaked, .most = 1000}).unknown());
  const auto partly = comparison({stack(100, 100), stack(std::nullopt, 5)});
  EXPECT_TRUE(judged(partly, {.kind = kLive, .each_stack = true, .most = 1000}).unknown());
  auto unmatched = comparison({stack(0, 100), stack(100, 0)});
  unmatched.unmatched_modules = {"app"};
  const GrowthEntry entry = judged(unmatched, {.kind = kLive, .each_stack = true, .most = 10});
  EXPECT_TRUE(entry.unknown());
  EXPECT_FALSE(entry.broken());
}

// Every pair of errors, and limits on both sides of each edge.
TEST(Growth, OfPeaksIsUnknownWhereTheirErrorsDecide) {
  constexpr uint64_t kBefore = 100;
  constexpr uint64_t kAfter = 140;
  for (const uint64_t before_error : {0u, 5u, 200u}) {
    for (const uint64_t after_error : {0u, 7u, 200u}) {
      for (uint64_t most = 0; most < 500; ++most) {
        report::Comparison compared;
        compared.recordings.resize(2);
        compared.recordings[0].totals.set(report::Figure::kPeakBytes, kBefore);
        compared.recordings[1].totals.set(report::Figure::kPeakBytes, kAfter);
        compared.recordings[0].report.totals.peak_error_bytes = before_error;
        compared.recordings[1].report.totals.peak_error_bytes = after_error;
        bool is_ever_beyond = false;
        bool is_ever_within = false;
        for (uint64_t before = kBefore - std::min(kBefore, before_error); before <= kBefore + before_error; ++before) {
          for (uint64_t after = kAfter - std::min(kAfter, after_error); after <= kAfter + after_error; ++after) {
            (after > before + most ? is_ever_beyond : is_ever_within) = true;
          }
        }
        const GrowthEntry entry = judged(compared, {.kind = report::LimitKind::kPeak, .most = most});
        ASSERT_EQ(entry.broken(), !is_ever_within) << before_error << " " << after_error << " " << most;
        ASSERT_EQ(entry.unknown(), is_ever_within && is_ever_beyond)
            << before_error << " " << after_error << " " << most;
      }
    }
  }
}

TEST(Growth, IsOnlyAsCertainAsBothFigures) {
  using enum report::Certainty;
  EXPECT_EQ(growth_certainty(kExact, kExact), kExact);
  EXPECT_EQ(growth_certainty(kExact, kAtLeast), kAtLeast);
  EXPECT_EQ(growth_certainty(kAtLeast, kExact), kUnknown);
  EXPECT_EQ(growth_certainty(kUnknown, kExact), kUnknown);
  EXPECT_EQ(growth_certainty(kNone, kExact), kNone);
  EXPECT_EQ(growth_certainty(kExact, kNone), kNone);
}

TEST(Growth, DecidesTheVerdict) {
  Verdict verdict;
  verdict.growth = {judged(comparison({stack(1, 2)}), {.kind = kLive, .most = 0})};
  EXPECT_TRUE(verdict.broken());
  verdict.growth = {judged(comparison({stack(1, 2)}), {.kind = kLive, .most = 0}, report::Certainty::kUnknown)};
  EXPECT_FALSE(verdict.broken());
  EXPECT_FALSE(verdict.passed());
  verdict.growth = {judged(comparison({stack(1, 2)}), {.kind = kLive, .most = 1})};
  EXPECT_TRUE(verdict.passed());
}

}  // namespace
}  // namespace heaptap::findings
