#include "analysis/query/known.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::query {
namespace {

report::Report attached_and_idle() {
  report::Report report;
  report.capture.from_start = false;
  report.capture.ended = true;
  report.leaks.scanned = true;
  return report;
}

TEST(KnownVerdicts, OfAnAttachedProcessThatAllocatedNothingThereAreNone) {
  report::Report report = attached_and_idle();
  EXPECT_FALSE(known_of(report).any);
  EXPECT_FALSE(known_of(report).leaks);
  EXPECT_EQ(known_of(report).gaps, std::vector{report::Gap::kNothingSeen});
  report.totals.allocations = 1;
  EXPECT_TRUE(known_of(report).any);
  report.totals.allocations = 0;
  report.totals.unknown_releases = 1;
  EXPECT_TRUE(known_of(report).any);
}

TEST(KnownVerdicts, BlocksFromBeforeThatAreLostAreKnown) {
  report::Report report = attached_and_idle();
  report.leaks.definite = {.blocks = 1, .bytes = 100};
  EXPECT_TRUE(known_of(report).any);
  report.leaks.scanned = false;
  EXPECT_FALSE(known_of(report).any);
}

TEST(KnownVerdicts, OfAForkedProcessOrOneFromItsStartTheyAreKnown) {
  report::Report report = attached_and_idle();
  report.capture.parent_pid = 7;
  EXPECT_TRUE(known_of(report).any) << "its parent's blocks are recorded";
  report.capture.parent_pid = 0;
  report.capture.from_start = true;
  EXPECT_TRUE(known_of(report).any);
}

}  // namespace
}  // namespace heaptap::query
