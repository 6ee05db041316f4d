#include "analysis/findings/telling_frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/findings/telling_frame.h"

namespace heaptap::findings {
namespace {

model::Frame named(const char* function, const char* module = "/bin/app") {
  model::Frame frame;
  frame.function = function;
  frame.module = module;
  return frame;
}

// Frames 0 to 4, the first two of which are machinery: by the built-in list, by the user's.
report::Report report_of(const std::vector<std::vector<report::FrameIndex>>& stacks) {
  report::Report report;
  report.skipped = report::SkippedNames({"my_alloc"});
  report.frames = {named("operator new(unsigned long)", "/usr/lib/libstdc++.so.6"), named("my_alloc"), named("f"),
                   named("g"), named("main")};
  for (const std::vector<report::FrameIndex>& frames : stacks)
    report.stacks.emplace_back().frames = report.frames.add(frames);
  return report;
}

std::string name_of(const model::Frame* frame) { return frame == nullptr ? "none" : frame->function; }

TEST(TellingFrames, AreThoseOfEachStackByItself) {
  const report::Report report = report_of({{0, 1, 2, 4}, {0, 3, 4}, {1, 2, 4}, {0, 1}, {0}, {}, {0, 1, 2, 4}});
  TellingFrames telling(report);
  std::vector<std::string> names;
  for (const report::StackEntry& stack : report.stacks) {
    names.push_back(name_of(telling.of(stack.frames)));
    EXPECT_EQ(names.back(), name_of(telling_frame(report.list(stack.frames), report.skipped)));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"f", "g", "f", "my_alloc", "operator new(unsigned long)", "none", "f"}));
}

TEST(TellingFrames, AreFramesOfTheReportsTable) {
  const report::Report report = report_of({{0, 1, 2, 4}});
  EXPECT_EQ(TellingFrames(report).of(report.stacks[0].frames), &report.frames.all()[2]);
}

}  // namespace
}  // namespace heaptap::findings
