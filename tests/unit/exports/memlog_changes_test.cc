#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "views/exports/memlog.h"

namespace heaptap::exports {
namespace {

// Stacks of one frame each, by id; the same function may have several.
struct Stack {
  std::string function;
  uint64_t live_bytes = 0;
  bool mapping = false;
};

report::Report counts_of(const std::vector<Stack>& stacks) {
  report::Report report;
  for (const Stack& stack : stacks) {
    report.counts.push_back({.live_bytes = stack.live_bytes, .mapping = stack.mapping});
  }
  return report;
}

report::Report named(const std::vector<Stack>& stacks, const std::vector<uint64_t>& ids) {
  report::Report report;
  for (const uint64_t id : ids) {
    model::Frame frame;
    frame.function = stacks[id - 1].function;
    frame.module = "/opt/app";
    report::StackEntry& entry = report.stacks.emplace_back();
    entry.id = id;
    entry.function = "malloc";
    entry.frames = report.frames.add(std::vector{static_cast<report::FrameIndex>(report.frames.size())});
    report.frames.push_back(frame);
  }
  return report;
}

class Changes : public testing::Test {
 protected:
  std::string next(const std::vector<Stack>& stacks, bool arrives = true) {
    const report::Report counts = counts_of(stacks);
    std::string text;
    changes_.write(counts, named(stacks, changes_.changed(counts)), [&text](std::string_view piece) { text += piece; });
    if (arrives) changes_.take_as_written(counts);
    return text;
  }

  MemlogChanges changes_;
};

std::string lines(const std::string& change, const std::string& function) {
  return change + "\n\tmalloc\n\t" + function + " (/opt/app)\n";
}

TEST_F(Changes, AreThoseSinceTheFileBefore) {
  EXPECT_EQ(next({{"a", 100}, {"b", 20}}), "120 (+120)\n" + lines("+100", "a") + lines("+20", "b"));
  EXPECT_EQ(next({{"a", 100}, {"b", 20}}), "120 (+0)\n");
  EXPECT_EQ(next({{"a", 0}, {"b", 21}, {"c", 5}}),
            "26 (-94)\n" + lines("+5", "c") + lines("+1", "b") + lines("-100", "a"));
}

TEST_F(Changes, OfStacksThatReadTheSameAreOne) {
  EXPECT_EQ(next({{"a", 100}, {"a", 20}}), "120 (+120)\n" + lines("+120", "a"));
  EXPECT_EQ(next({{"a", 90}, {"a", 30}}), "120 (+0)\n");
}

TEST_F(Changes, OfMappingsDoNotCount) {
  EXPECT_EQ(next({{"a", 100}, {"m", 4096, true}}), "100 (+100)\n" + lines("+100", "a"));
}

TEST_F(Changes, ThatDidNotArriveAreInTheNextFile) {
  next({{"a", 100}});
  next({{"a", 150}}, false);
  EXPECT_EQ(next({{"a", 160}}), "160 (+60)\n" + lines("+60", "a"));
}

TEST_F(Changes, OfHugeNumbersWrapAround) {
  EXPECT_EQ(next({{"a", ~uint64_t{0}}}), "-1 (-1)\n" + lines("-1", "a"));
  EXPECT_EQ(next({{"a", 1}}), "1 (+2)\n" + lines("+2", "a"));
}

}  // namespace
}  // namespace heaptap::exports
