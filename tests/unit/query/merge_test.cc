// Reports that are made up: two processes that share code, and what a third one adds.
#include "analysis/query/merge.h"

#include <gtest/gtest.h>

#include "analysis/report/process_sums.h"

namespace heaptap::query {
namespace {

using report::FrameIndex;
using report::Gap;
using report::Report;

model::Frame frame(const char* function, uint64_t offset, uint64_t address, const char* module = "/bin/app") {
  return {.function = function,
          .symbol = "",
          .module = module,
          .offset = offset,
          .address = address,
          .file = "app.cc",
          .line = 7,
          .inlined = false};
}

report::StackEntry stack(report::FrameTable& table, uint64_t id, const char* function,
                         const std::vector<FrameIndex>& frames, uint64_t bytes) {
  report::StackEntry made;
  made.id = id;
  made.function = function;
  made.allocations = 3;
  made.releases = 1;
  made.allocated_bytes = 2 * bytes;
  made.live_blocks = 2;
  made.live_bytes = bytes;
  made.peak_bytes = bytes;
  made.temporary_allocations = 1;
  made.lifetime_ns = 10;
  made.threads = {1};
  made.leaks.edit().definite = {1, bytes};
  made.frames = table.add(frames);
  return made;
}

// Of a process that has its modules `bias` higher.
Report part(uint32_t pid, uint64_t bias) {
  Report made;
  made.capture.pid = pid;
  made.capture.command = {"/bin/app"};
  made.capture.ended = true;
  made.capture.exit.code = 0;
  made.capture.duration_ns = uint64_t{1000} * pid;
  made.capture.notes = {{.name = "seen"}};
  made.totals = {.allocations = 6,
                 .releases = 2,
                 .allocated_bytes = 600,
                 .temporary_allocations = 2,
                 .live_blocks = 4,
                 .live_bytes = 300,
                 .peak_live_bytes = 400 + pid,
                 .peak_live_blocks = 5,
                 .mapped_live_bytes = 4096,
                 .peak_mapped_bytes = 8192,
                 .mismatched_releases = 1};
  made.leaks.scanned = true;
  made.leaks.definite = {2, 300};
  made.leaks.reachable = {1, 8};
  made.leaks.pools.definite = {2, 20};
  made.leaks.pools.indirect = {1, 5};
  made.leaks.pools.lost_apart = {1, 4};
  made.leaks.scan.number = 1;
  made.leaks.scan.at_end = true;
  made.leaks.scan.stopped_ns = 5;
  made.leaks.scan.blocks = 4;
  made.leaks.scan_count = 1;
  made.leaks.unused_suppressions = {"a:1", "b:2"};
  made.frames = {frame("main", 0x10, bias + 0x10), frame("make", 0x20, bias + 0x20)};
  made.stacks = {stack(made.frames, 1, "malloc", {1, 0}, 100), stack(made.frames, 2, "calloc", {1, 0}, 200)};
  made.stack_count = 2;
  made.errors_requested = true;
  made.errors = {{.kind = "mismatched",
                  .function = "free",
                  .variant = "",
                  .address = bias + 1,
                  .count = 2,
                  .frames = {0},
                  .allocated = report::ErrorEntry::Origin{"operator new", "", 8, {1, 0}},
                  .released = {}}};
  made.threads = std::vector<report::ThreadEntry>{{.number = 1, .kernel_id = pid, .name = "app"}};
  made.trace_path = "app.htap";
  return made;
}

Report merged(std::vector<Report> parts, MergeOptions options = {}) { return merge(std::move(parts), options); }

template <typename Frames>  // a path, or a list
std::vector<std::string> functions_of(const Report& report, const Frames& frames) {
  std::vector<std::string> names;
  for (const model::Frame& each : report.list(frames)) names.push_back(each.function);
  return names;
}

report::ActivityCell cell(uint32_t stack, uint32_t bin, uint64_t bytes) {
  report::ActivityCell made;
  made.stack = stack;
  made.thread = 1;
  made.bin = bin;
  made.allocations = 1;
  made.allocated_bytes = bytes;
  return made;
}

TEST(Merge, KeepsWhatHappenedByProcessAndNotWhen) {
  Report one = part(1, 0);
  Report other = part(2, 0x1000);
  one.activity = report::Activity{0, 10, 4, {cell(0, 0, 5), cell(0, 3, 6), cell(1, 1, 100)}, {}};
  other.activity = report::Activity{0, 99, 4, {cell(0, 2, 7)}, {}};
  other.timeline = {{.time_ns = 1, .live_bytes = 3, .peak_live_bytes = 9}, {.time_ns = 2, .live_bytes = 4}};
  const Report all = merged({one, other}, {.sort = SortKey::kUsage});
  ASSERT_TRUE(all.activity);
  EXPECT_EQ(all.activity->bin_count, 1U);
  ASSERT_EQ(all.activity->cells.size(), 3U);
  uint64_t of_malloc[2] = {0, 0};
  for (const report::ActivityCell& each : all.activity->cells) {
    EXPECT_EQ(each.bin, 0U);
    EXPECT_EQ((*all.threads)[each.thread - 1].process, each.process);
    if (all.stacks[each.stack].function == "malloc") of_malloc[each.process] += each.allocated_bytes;
  }
  EXPECT_EQ(of_malloc[0], 11U);
  EXPECT_EQ(of_malloc[1], 7U);
  EXPECT_EQ(all.processes[1].live_bytes, (std::vector<uint64_t>{9, 4}));
}

TEST(Merge, KnowsNothingByProcessWhereOneHasTotalsOnly) {
  Report one = part(1, 0);
  one.activity = report::Activity{0, 10, 4, {cell(0, 0, 5)}, {}};
  EXPECT_FALSE(merged({one, part(2, 0)}).activity);
  EXPECT_FALSE(merged({part(2, 0), one}).activity);
}

TEST(Merge, SuppressionsFollowTheirStacks) {
  Report one = part(1, 0);
  one.stack_suppressions = {{1, "leak:make"}};
  const Report all = merged({part(2, 0), one}, {.sort = SortKey::kUsage});
  ASSERT_EQ(all.stack_suppressions.size(), 1U);
  EXPECT_EQ(all.stacks[all.stack_suppressions[0].first].function, "calloc");
}

TEST(Merge, SumsTotals) {
  const Report report = merged({part(1, 0), part(2, 0x1000)});
  EXPECT_TRUE(report.of_run);
  EXPECT_EQ(report.totals.allocations, 12u);
  EXPECT_EQ(report.totals.releases, 4u);
  EXPECT_EQ(report.totals.allocated_bytes, 1200u);
  EXPECT_EQ(report.totals.temporary_allocations, 4u);
  EXPECT_EQ(report.totals.live_blocks, 8u);
  EXPECT_EQ(report.totals.live_bytes, 600u);
  EXPECT_EQ(report.totals.mapped_live_bytes, 8192u);
  EXPECT_EQ(report.totals.mismatched_releases, 2u);
}

TEST(Merge, KnowsNoCommonPeakOfSeveralProcesses) {
  const Report report = merged({part(1, 0), part(2, 0)});
  EXPECT_FALSE(report.totals.peak_live_bytes.is_known());
  EXPECT_FALSE(report.totals.peak_mapped_bytes.is_known());
  EXPECT_FALSE(report.totals.peak_time_ns.is_known());
  EXPECT_EQ(report::sum_of(report.processes).largest_peak, 402u);
}

TEST(Merge, TakesPeaksOfStacksFromTheProcessWithTheLargestPeak) {
  for (const bool is_first : {false, true}) {
    Report small = part(1, 0);
    Report large = part(2, 0x1000);
    large.stacks[0].peak_bytes = 377;
    std::vector<Report> parts;
    parts.push_back(std::move(large));
    parts.push_back(std::move(small));
    if (!is_first) std::swap(parts[0], parts[1]);
    const Report report = merged(std::move(parts));
    ASSERT_NE(report::peak_process_of(report), nullptr);
    EXPECT_EQ(report::peak_process_of(report)->capture.pid, 2u);
    EXPECT_EQ(report::peak_of(report), 402u);
    const auto stack =
        std::ranges::find(report.stacks, 377u, [](const auto& each) { return each.peak_bytes.counted(); });
    ASSERT_NE(stack, report.stacks.end()) << "not added to the other one's";
    EXPECT_TRUE(stack->peak_bytes.is_known());
    EXPECT_FALSE(stack->lifetime_ns.is_known());
  }
}

TEST(Merge, KnowsNoPeakOfStacksWhereNoProcessHasOne) {
  Report first = part(1, 0);
  Report second = part(2, 0);
  first.totals.set_peak_unknown();
  second.totals.set_peak_unknown();
  std::vector<Report> parts;
  parts.push_back(std::move(first));
  parts.push_back(std::move(second));
  const Report report = merged(std::move(parts));
  EXPECT_EQ(report::peak_process_of(report), nullptr);
  EXPECT_FALSE(report.stacks[0].peak_bytes.is_known());
}

TEST(Merge, KnowsThePeakOfOneProcessThatExecutedOthers) {
  Report before = part(1, 0);
  before.capture.executed = true;
  before.totals.peak_live_bytes = 999;
  const Report report = merged({part(1, 0), std::move(before)});
  EXPECT_TRUE(report.totals.peak_live_bytes.is_known());
  EXPECT_EQ(report.totals.peak_live_bytes, 999u);
}

TEST(Merge, JoinsEqualStacksAndFrames) {
  const Report report = merged({part(1, 0), part(2, 0x1000)});
  ASSERT_EQ(report.stacks.size(), 2u);
  EXPECT_EQ(report.stack_count, 2u);
  const report::StackEntry& largest = report.stacks[0];
  EXPECT_EQ(largest.function, "calloc");
  EXPECT_EQ(largest.live_bytes, 400u);
  EXPECT_EQ(largest.live_blocks, 4u);
  EXPECT_EQ(largest.allocations, 6u);
  EXPECT_EQ(largest.leaks->definite.bytes, 400u);
  EXPECT_EQ(functions_of(report, largest.frames), (std::vector<std::string>{"make", "main"}));
  ASSERT_EQ(report.frames.size(), 2u);
  EXPECT_EQ(report.frames[0].address, 0u) << "it differs, so there is none";
}

TEST(Merge, JoinsEqualStacksOfOneProcess) {
  Report one = part(1, 0);
  one.stacks.push_back(stack(one.frames, 3, "malloc", {1, 0}, 50));
  one.stacks[0].leaks.edit().held_by = 3;
  one.stacks[1].leaks.edit().held_by = 3;
  const Report report = merged({std::move(one), part(2, 0x1000)}, {.sort = SortKey::kStacks});
  ASSERT_EQ(report.stacks.size(), 2U);
  EXPECT_EQ(report.stacks[0].live_bytes, 250U);
  EXPECT_EQ(report.stacks[1].leaks->held_by, report.stacks[0].id);
}

TEST(Merge, ListsTheLargestAndCountsAll) {
  Report one = part(1, 0);
  for (uint64_t id = 3; id < 40; ++id)
    one.stacks.push_back(stack(one.frames, id, "realloc", {static_cast<FrameIndex>(id % 2)}, id));
  one.stacks.push_back(stack(one.frames, 40, "memalign", {0}, 1000));
  const Report report = merged({std::move(one)}, {.sort = SortKey::kUsage, .limit = 2});
  EXPECT_EQ(report.stack_count, 5U);
  ASSERT_EQ(report.stacks.size(), 2U);
  EXPECT_EQ(report.stacks[0].function, "memalign");
  EXPECT_EQ(report.stacks[1].live_bytes, 399U) << "of the odd calls of realloc";
}

TEST(Merge, KeepsTheCrashOfEachProcess) {
  Report other = part(2, 0x1000);
  other.frames.push_back(frame("fail", 0x90, 0x1090));
  other.crash = report::Crash{.thread = 1, .frames = {2, 0}};
  const Report of_child = merged({part(1, 0), other});
  EXPECT_FALSE(of_child.crash) << "the main process has none";
  EXPECT_FALSE(of_child.processes[0].crash);
  ASSERT_TRUE(of_child.processes[1].crash);
  EXPECT_EQ(functions_of(of_child, of_child.processes[1].crash->frames), (std::vector<std::string>{"fail", "main"}));
  EXPECT_EQ(of_child.processes[1].crash->thread, 2u) << "the numbers of the first process's threads come before";
  const Report of_main = merged({other, part(1, 0)});
  ASSERT_TRUE(of_main.crash);
  EXPECT_EQ(functions_of(of_main, of_main.crash->frames), (std::vector<std::string>{"fail", "main"}));
}

TEST(Merge, KeepsApartWhatDiffers) {
  Report other = part(2, 0);
  other.frames.all()[1].offset = 0x21;
  other.stacks[1].variant = "nothrow";
  const Report report = merged({part(1, 0), std::move(other)});
  EXPECT_EQ(report.stacks.size(), 4u);
  EXPECT_EQ(report.frames.size(), 3u);
  EXPECT_EQ(report.errors.size(), 2u) << "their allocations differ";
}

TEST(Merge, NumbersStacksAndSortsThem) {
  Report other = part(2, 0);
  other.frames.all()[1] = frame("large", 0x99, 0x99);
  other.stacks[0].live_bytes = 5000;
  const Report report = merged({part(1, 0), std::move(other)}, {.sort = SortKey::kUsage, .limit = 2, .depth = 1});
  EXPECT_EQ(report.stack_count, 4u);
  ASSERT_EQ(report.stacks.size(), 2u);
  EXPECT_EQ(report.stacks[0].id, 3u);
  EXPECT_EQ(report.stacks[0].live_bytes, 5000u);
  EXPECT_EQ(functions_of(report, report.stacks[0].frames), std::vector<std::string>{"large"});
  EXPECT_EQ(report.sort_key, "usage");
}

TEST(Merge, SumsLeaks) {
  const Report report = merged({part(1, 0), part(2, 0)});
  EXPECT_TRUE(report.known.leaks);
  EXPECT_EQ(report.leaks.definite.bytes, 600u);
  EXPECT_EQ(report.leaks.reachable.blocks, 2u);
  EXPECT_EQ(report.leaks.pools.definite.bytes, 40u);
  EXPECT_EQ(report.leaks.pools.indirect.blocks, 2u);
  EXPECT_EQ(report.leaks.pools.lost_apart.bytes, 8u);
  EXPECT_EQ(report.leaks.scan_count, 2u);
  EXPECT_EQ(report.leaks.scan.stopped_ns, 10u);
  EXPECT_EQ(report.leaks.scan.number, 0u);
  EXPECT_TRUE(report.leaks.scan.at_end);
}

Report unscanned(uint32_t pid) {
  Report made = part(pid, 0);
  made.leaks = {};
  made.known.leaks = false;
  for (report::StackEntry& stack : made.stacks) stack.leaks.reset();
  return made;
}

TEST(Merge, LeaksAreTheLeastThereIsWhereAProcessHasNoScan) {
  const Report report = merged({unscanned(1), part(2, 0)}, {.leaks_only = true});
  EXPECT_TRUE(report.leaks.scanned);
  EXPECT_EQ(report.leaks.definite.bytes, 300u);
  EXPECT_FALSE(report.known.leaks);
  EXPECT_EQ(report.known.gaps, std::vector<Gap>{Gap::kUnscannedProcess});
  EXPECT_EQ(report.stacks[0].leaks->definite.bytes, 200u);
}

TEST(Merge, HoldersAreNamedByTheirNewNumber) {
  Report one = part(1, 0);
  one.stacks[0].id = 7;
  one.stacks[0].leaks.edit().held_by = 2;
  Report other = part(2, 0);
  other.stacks[0].leaks.edit().held_by = 2;
  const Report report = merged({std::move(one), std::move(other)});
  EXPECT_EQ(report.stacks[1].leaks->held_by, report.stacks[0].id);
  EXPECT_FALSE(report.stacks[1].leaks->has_more_holders);
}

TEST(Merge, ListsOnlyStacksThatLeakWhereThereWasAScan) {
  Report other = unscanned(2);
  other.frames.all()[1] = frame("other", 0x30, 0x30);
  EXPECT_EQ(merged({part(1, 0), other}, {.leaks_only = true}).stack_count, 2u);
  EXPECT_EQ(merged({part(1, 0), other}).stack_count, 4u);
  EXPECT_EQ(merged({unscanned(1), other}, {.leaks_only = true}).stack_count, 4u);
  EXPECT_FALSE(merged({unscanned(1), other}).leaks.scanned);
}

TEST(Merge, WhatAProgramLeftAsItExecutedAnotherOneIsNoLeak) {
  Report before = unscanned(1);
  before.capture.executed = true;
  const Report report = merged({part(1, 0), std::move(before)});
  EXPECT_TRUE(report.known.leaks);
  EXPECT_TRUE(report.known.gaps.empty());
}

TEST(Merge, IsAsCertainAsTheLeastCertainProcess) {
  Report other = part(2, 0);
  other.known = {.leaks = false, .releases = false, .saw_all = false, .gaps = {Gap::kLostEvents}};
  other.capture.lost_events = 3;
  other.capture.truncated = true;
  other.capture.damage = "cut";
  other.totals.temporary_allocations.set_unknown();
  other.stacks[0].set_live_unknown();
  const Report report = merged({part(1, 0), std::move(other)});
  EXPECT_FALSE(report.known.leaks || report.known.releases || report.known.saw_all);
  EXPECT_EQ(report.known.gaps, std::vector<Gap>{Gap::kLostEvents});
  EXPECT_EQ(report.capture.lost_events, 3u);
  EXPECT_TRUE(report.capture.truncated);
  EXPECT_EQ(report.capture.damage, "cut");
  EXPECT_FALSE(report.totals.temporary_allocations.is_known());
  EXPECT_FALSE(report.stacks[1].live_bytes.is_known());
  EXPECT_TRUE(report.stacks[0].live_bytes.is_known());
}

TEST(Merge, SaysWhichTraceCouldNotBeRead) {
  Merger merger;
  merger.add(part(1, 0));
  report::ProcessEntry lost;
  lost.capture.pid = 9;
  lost.failure = "gone";
  merger.add_unread(lost);
  const Report report = std::move(merger).finish({});
  EXPECT_EQ(report.processes.size(), 2u);
  EXPECT_FALSE(report.known.leaks || report.known.releases || report.known.saw_all);
  EXPECT_EQ(report.known.gaps, std::vector<Gap>{Gap::kUnreadTrace});
  EXPECT_FALSE(report.totals.peak_live_bytes.is_known());
  EXPECT_FALSE(report::sum_of(report.processes).largest_peak);
}

TEST(Merge, JoinsEqualErrors) {
  const Report report = merged({part(1, 0), part(2, 0x1000)});
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].count, 4u);
  EXPECT_EQ(report.errors[0].address, 1u);
  EXPECT_EQ(functions_of(report, report.errors[0].allocated->frames), (std::vector<std::string>{"make", "main"}));
}

TEST(Merge, KeepsThreadsApart) {
  const Report report = merged({part(1, 0), part(2, 0)});
  EXPECT_EQ(report.stacks[0].threads, (report::ThreadNumbers{1, 2}));
  const auto threads = report::or_none(report.threads);
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[1].number, 2u);
  EXPECT_EQ(threads[1].pid, 2u);
}

TEST(Merge, NotesHaveTheirProcess) {
  const Report report = merged({part(1, 0), part(2, 0)});
  ASSERT_EQ(report.capture.notes.size(), 2u);
  EXPECT_EQ(report.capture.notes[1].pid, 2u);
}

TEST(Merge, IsTheMainProgramsCapture) {
  const Report report = merged({part(7, 0), part(2, 0)});
  EXPECT_EQ(report.capture.pid, 7u);
  EXPECT_EQ(report.capture.duration_ns, 7000u);
  EXPECT_EQ(report.processes.front().capture.pid, 7u);
}

TEST(Merge, UnusedSuppressionsAreThoseThatNoProcessUsed) {
  Report other = part(2, 0);
  other.leaks.unused_suppressions = {"b:2", "c:3"};
  other.leaks.suppressions = {{"a:1", "a", {1, 10}}};
  Report third = other;
  const Report report = merged({part(1, 0), std::move(other), std::move(third)});
  EXPECT_EQ(report.leaks.unused_suppressions, std::vector<std::string>{"b:2"});
  ASSERT_EQ(report.leaks.suppressions.size(), 1u);
  EXPECT_EQ(report.leaks.suppressions[0].hidden.bytes, 20u);
}

TEST(Merge, AFilterIsUnmatchedWhereNoProcessMatchesIt) {
  Report none = part(1, 0);
  none.unmatched = report::UnmatchedFilter{.by_name = true};
  Report neither = none;
  neither.capture.pid = 2;
  EXPECT_TRUE(merged({none, neither}).unmatched);
  EXPECT_FALSE(merged({none, part(2, 0)}).unmatched);
  EXPECT_FALSE(merged({part(2, 0), none}).unmatched);
}

}  // namespace
}  // namespace heaptap::query
