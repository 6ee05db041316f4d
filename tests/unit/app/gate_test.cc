#include "apps/heaptap/commands/gate.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::app {
namespace {

using report::ProcessEntry;
using supervision::FinishedTrace;

ProcessEntry clean() {
  ProcessEntry process;
  process.leaks.scanned = true;
  return process;
}

ProcessEntry leaking() {
  ProcessEntry process = clean();
  process.leaks.definite = {.blocks = 1, .bytes = 64};
  return process;
}

FinishedTrace written() { return {.path = "1.htap", .pid = 1, .failure = ""}; }
FinishedTrace missing() { return {.path = "", .pid = 2, .failure = "can't write"}; }
FinishedTrace incomplete() { return {.path = "3.htap", .pid = 3, .failure = "No space left on device"}; }

TEST(Gate, WithoutAnyTraceItIsUnknown) {
  EXPECT_EQ(judge({}, {}, {}), Gate::kUnknown);
  EXPECT_EQ(judge({}, std::vector{missing()}, {}), Gate::kUnknown);
  EXPECT_TRUE(lacks_traces({}));
}

TEST(Gate, AMissingOrIncompleteTraceIsNotClean) {
  const std::vector processes{clean()};
  EXPECT_EQ(judge({}, std::vector{written()}, processes), Gate::kPassed);
  EXPECT_EQ(judge({}, std::vector{written(), missing()}, processes), Gate::kUnknown);
  EXPECT_EQ(judge({}, std::vector{incomplete()}, processes), Gate::kUnknown);
  EXPECT_FALSE(lacks_traces(std::vector{written()}));
}

TEST(Gate, WithoutALeakScanAMissingTraceIsUnknownToo) {
  RunOptions options;
  options.leak_scan = false;
  ProcessEntry process = clean();
  process.leaks.scanned = false;
  const std::vector processes{process};
  EXPECT_EQ(judge(options, std::vector{written()}, processes), Gate::kPassed);
  EXPECT_EQ(judge(options, std::vector{written(), missing()}, processes), Gate::kUnknown);
}

TEST(Gate, AKnownLeakFailsWhateverElseIsUnknown) {
  const std::vector processes{clean(), leaking()};
  EXPECT_EQ(judge({}, std::vector{written(), written()}, processes), Gate::kFailed);
  EXPECT_EQ(judge({}, std::vector{written(), missing(), incomplete()}, processes), Gate::kFailed);
}

TEST(Gate, BadReleasesFailOnlyIfRequested) {
  std::vector processes{clean()};
  processes.front().totals.double_releases = 1;
  EXPECT_EQ(judge({}, std::vector{written()}, processes), Gate::kPassed);
  RunOptions options;
  options.sanity = true;
  EXPECT_EQ(judge(options, std::vector{written()}, processes), Gate::kFailed);
}

TEST(Gate, WhatWasNotSeenOfAProcessIsUnknown) {
  const auto verdict = [](auto change) {
    ProcessEntry process = clean();
    change(process);
    return judge({}, std::vector{written()}, std::vector{process});
  };
  EXPECT_EQ(verdict([](ProcessEntry& process) { process.failure = "can't be read"; }), Gate::kUnknown);
  EXPECT_EQ(verdict([](ProcessEntry& process) { process.known.any = false; }), Gate::kUnknown);
  EXPECT_EQ(verdict([](ProcessEntry& process) { process.known.children = false; }), Gate::kUnknown);
  EXPECT_EQ(verdict([](ProcessEntry& process) { process.known.leaks = false; }), Gate::kUnknown);
  EXPECT_EQ(verdict([](ProcessEntry& process) { process.leaks.scanned = false; }), Gate::kUnknown);
  const auto executed = [](ProcessEntry& process) {
    process.leaks.scanned = false;
    process.capture.executed = true;
  };
  EXPECT_EQ(verdict(executed), Gate::kPassed) << "memory from before an exec is not leaked";
}

}  // namespace
}  // namespace heaptap::app
