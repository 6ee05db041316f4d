#include "analysis/findings/fix_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace heaptap::findings {
namespace {

using report::Figure;

// A recording of one stack that lost ten of its twenty blocks, and its like after the fix, which each test changes.
class FixTest : public testing::Test {
 protected:
  FixTest() {
    for (report::Report* report : {&before_, &after_}) {
      report->capture.ended = true;
      report->leaks.scanned = true;
      report->leaks.scan.at_end = true;
      report::StackEntry& stack = report->stacks.emplace_back();
      stack.allocations = 20;
      stack.leaks.set_scanned();
    }
    before_.stacks[0].id = 3;
    before_.stacks[0].leaks.edit().definite = {10, 1000};
    after_.stacks[0].id = 7;
    comparison_.frames.push_back(frame("duplicate"));
    comparison_.frames.push_back(frame("other"));
    row(3, 7);
  }

  static model::Frame frame(const std::string& function) {
    model::Frame made;
    made.function = function;
    made.module = "/bin/app";
    return made;
  }

  // A compared stack; 0: a recording doesn't have it.
  report::ComparedStack& row(uint64_t id_before, uint64_t id_after, report::FrameIndex function = 0) {
    report::ComparedStack& stack = comparison_.stacks.emplace_back();
    stack.sides.resize(2);
    if (id_before != 0) stack.sides[0].ids = {id_before};
    if (id_after != 0) stack.sides[1].ids = {id_after};
    stack.frames = comparison_.frames.add(std::vector<report::FrameIndex>{function});
    return stack;
  }

  static report::StackEntry& add_stack(report::Report& report, uint64_t id, uint64_t allocations) {
    report::StackEntry& stack = report.stacks.emplace_back();
    stack.id = id;
    stack.allocations = allocations;
    stack.leaks.set_scanned();
    return stack;
  }

  std::pair<std::string, std::string> verdict(uint64_t stack = 3) {
    comparison_.recordings.clear();
    comparison_.recordings.push_back({.report = before_, .at_ns = {}, .totals = {}});
    comparison_.recordings.push_back({.report = after_, .at_ns = {}, .totals = {}});
    const FixVerdict judged = judge_fix({before_, after_, comparison_}, stack);
    EXPECT_FALSE(judged.reasons.empty());
    return {name_of(judged.state), judged.reasons.empty() ? "" : judged.reasons.front()};
  }

  report::Report before_, after_;
  report::Comparison comparison_;
};

TEST_F(FixTest, GoneIfTheSamePathAllocatedAndNothingOfItIsLost) {
  EXPECT_EQ(verdict(),
            std::pair(std::string("gone"), std::string("nothing of it was lost after, in 20 allocations on this path; "
                                                       "before: 1000 B in 10 blocks lost")));
  EXPECT_EQ(verdict(0).first, "gone");
}

TEST_F(FixTest, StillThereIfASingleBlockIsLost) {
  after_.stacks[0].leaks.edit().indirect = {1, 100};
  after_.capture.truncated = true;
  EXPECT_EQ(verdict(), std::pair(std::string("still there"),
                                 std::string("lost after: 100 B in 1 block; before: 1000 B in 10 blocks")));
}

TEST_F(FixTest, StillThereIfASuppressionHidesIt) {
  after_.stacks[0].leaks.edit().suppressed = {1, 100};
  EXPECT_EQ(verdict().first, "still there");
}

TEST_F(FixTest, UnknownIfThePathDidNotRun) {
  after_.stacks[0].allocations = 0;
  EXPECT_EQ(verdict().first, "unknown");
  EXPECT_THAT(verdict().second, testing::HasSubstr("the path did not run"));
  after_.stacks[0].allocations = {20, false};
  EXPECT_EQ(verdict().first, "unknown");
  comparison_.stacks.clear();
  row(3, 0);
  EXPECT_EQ(verdict().first, "unknown");
}

TEST_F(FixTest, UnknownIfOnlyAPathThatNeverLeakedRan) {
  add_stack(before_, 4, 50);
  add_stack(after_, 8, 50);
  row(4, 8);
  after_.stacks[0].allocations = 0;
  EXPECT_EQ(verdict(0).first, "unknown") << "#3 leaked, #4 never did";
  EXPECT_THAT(verdict(0).second, testing::HasSubstr("on the path of #3 "));
  after_.stacks[0].allocations = 20;
  EXPECT_EQ(verdict(0),
            std::pair(std::string("gone"), std::string("nothing of it was lost after, in 20 allocations on this path; "
                                                       "before: 1000 B in 10 blocks lost")));
  after_.stacks[1].allocations = 0;
  EXPECT_EQ(verdict(0).first, "gone") << "that one has nothing to prove";
  after_.stacks[1].leaks.edit().definite = {1, 8};
  EXPECT_EQ(verdict(0).first, "still there") << "but a leak of its own counts";
}

TEST_F(FixTest, UnknownUnlessEachPathThatLeakedRan) {
  add_stack(before_, 4, 5).leaks.edit().indirect = {5, 50};
  add_stack(before_, 5, 5).leaks.edit().definite = {5, 50};
  add_stack(after_, 8, 5);
  row(4, 8);
  row(5, 0);
  EXPECT_EQ(verdict(0).first, "unknown");
  EXPECT_THAT(verdict(0).second, testing::HasSubstr("on the path of #5 "));
  EXPECT_EQ(verdict(3).first, "gone") << "a question about one of them";
  after_.stacks[1].allocations = {5, false};
  EXPECT_THAT(verdict(0).second, testing::HasSubstr("on the path of #4, #5 "));
  after_.stacks[1].allocations = 5;
  comparison_.stacks.pop_back();
  EXPECT_EQ(verdict(0).first, "gone");
}

TEST_F(FixTest, UnknownIfFewerStacksOfTheSameLinesRan) {
  add_stack(before_, 4, 5);
  comparison_.stacks[0].sides[0].ids = {3, 4};
  EXPECT_EQ(verdict(0).first, "unknown") << "#7 may be what #4 was";
  EXPECT_EQ(verdict(3).first, "unknown");
  EXPECT_THAT(verdict(3).second, testing::HasSubstr("on the path of #3:"));
  add_stack(after_, 8, 0);
  comparison_.stacks[0].sides[1].ids = {7, 8};
  EXPECT_EQ(verdict(3).first, "unknown");
  after_.stacks[1].allocations = 5;
  EXPECT_EQ(verdict(3).first, "gone");
}

TEST_F(FixTest, UnknownWithoutAScanOfEither) {
  after_.leaks.scanned = false;
  after_.stacks[0].leaks.reset();
  EXPECT_EQ(verdict(), std::pair(std::string("unknown"), std::string("the recording after has no leak scan")));
  before_.leaks.scanned = false;
  EXPECT_EQ(verdict(), std::pair(std::string("unknown"), std::string("the recording before has no leak scan")));
}

TEST_F(FixTest, UnknownIfNotAllWasSeenAfter) {
  after_.known.saw_all = false;
  EXPECT_EQ(verdict().first, "unknown");
  after_.known.saw_all = true;
  after_.leaks.scan.at_end = false;  // later leaks aren't in it
  EXPECT_EQ(verdict().first, "unknown");
  after_.leaks.scan.at_end = true;
  EXPECT_EQ(verdict().first, "gone");
}

TEST_F(FixTest, UnknownIfBlocksArePossiblyLostOrMayHaveBeenReleased) {
  after_.stacks[0].leaks.edit().possible = {1, 100};
  EXPECT_EQ(verdict().first, "unknown");
  after_.stacks[0].leaks.edit().possible = {};
  after_.stacks[0].leaks.edit().unknown = {1, 100};
  EXPECT_EQ(verdict().first, "unknown");
}

TEST_F(FixTest, UnknownIfTheSameFunctionLosesOnANewPath) {
  after_.stacks.emplace_back().id = 8;
  report::ComparedStack& stack = row(0, 8);
  stack.sides[1].figures.set(Figure::kLeakedBytes, 50);
  EXPECT_EQ(verdict(),
            std::pair(std::string("unknown"), std::string("the same function loses 50 B after, by another path: #8")));
  comparison_.stacks.pop_back();
  row(0, 8, 1).sides[1].figures.set(Figure::kLeakedBytes, 50);
  EXPECT_EQ(verdict().first, "gone") << "another function's leak";
}

TEST_F(FixTest, UnknownIfThereWasNoLeakToFix) {
  before_.stacks[0].leaks.edit().definite = {};
  EXPECT_EQ(verdict().first, "unknown");
  EXPECT_EQ(verdict(99), std::pair(std::string("unknown"), std::string("the recording before has no such stack")));
}

TEST_F(FixTest, UnknownIfTheProgramBeforeWasReplacedSaysWhatIsMissing) {
  comparison_.stacks.clear();
  row(3, 0);
  before_.symbol_hints.push_back({.path = "/bin/app", .lack = model::SymbolHint::Lack::kSameFile});
  EXPECT_EQ(verdict().first, "unknown");
  EXPECT_THAT(judge_fix({before_, after_, comparison_}, 3).reasons.back(),
              testing::HasSubstr("/bin/app was replaced since the trace was recorded"));
}

}  // namespace
}  // namespace heaptap::findings
