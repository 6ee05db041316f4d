// How grave leaks are, and what is said of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/findings/findings.h"
#include "analysis/findings/outcome.h"

namespace heaptap::findings {
namespace {

// Of a server with a peak of 1 MiB, of which half is left.
report::Report server() {
  report::Report report;
  report.capture.command = {"./server"};
  report.capture.ended = true;
  report.capture.exit.code = 0;
  report.totals.allocations = 100;
  report.totals.peak_live_bytes = 1 << 20;
  report.totals.live_bytes = 1 << 19;
  report.leaks.scanned = true;
  report.leaks.reachable = {100, 1 << 19};
  return report;
}

void add_stack(report::Report& report, const char* function, const report::StackLeaks& leaks) {
  report.leaks.definite += leaks.definite;
  report.leaks.possible += leaks.possible;
  model::Frame frame;
  frame.function = function;
  frame.module = "/bin/server";
  report.frames.push_back(frame);
  report::StackEntry& stack = report.stacks.emplace_back();
  stack.id = report.stacks.size();
  stack.function = "malloc";
  stack.frames = report.frames.add(std::vector{static_cast<report::FrameIndex>(report.frames.size() - 1)});
  stack.leaks = report::ScannedLeaks(leaks);
}

report::StackLeaks possible(const report::BlockCount& count) {
  report::StackLeaks leaks;
  leaks.possible = count;
  return leaks;
}

report::StackLeaks definite(const report::BlockCount& count) {
  report::StackLeaks leaks;
  leaks.definite = count;
  return leaks;
}

std::vector<Finding> of_kind(const report::Report& report, FindingKind kind) {
  std::vector<Finding> found = findings_of(report);
  std::erase_if(found, [kind](const Finding& finding) { return finding.kind != kind; });
  return found;
}

// Blocks from before an attach lead to it: which variable leads to those is unknown.
TEST(LeakFindings, WhatOlderBlocksHoldHasNoKnownVariable) {
  report::Report report = server();
  report.globals.emplace().mappings = {80, 1 << 18};
  report::GlobalEntry& entry = report.globals->entries.emplace_back();
  entry.variable.name = "g_few";
  entry.retained = {20, 1 << 17};

  report.capture.from_start = false;
  EXPECT_EQ(retained_text(report),
            "256.0 KiB of them by blocks from before the recording or mapped memory, so that the variable is unknown");
  report.capture.from_start = true;
  EXPECT_EQ(retained_text(report), "128.0 KiB of them by global g_few");
}

TEST(LeakFindings, WhoHeldALeakUntilExitIsTold) {
  report::Report report = server();
  report::StackLeaks leaks = definite({2, 1 << 18});
  report::NamedRoot cache;
  cache.kind = "global";
  cache.name = "g_cache";
  cache.file = "/src/cache.cc";
  cache.line = 4;
  leaks.exit_holder = report::ExitHolder{cache, leaks.definite};
  add_stack(report, "make_page", leaks);
  const std::vector<Finding> found = of_kind(report, FindingKind::kLeak);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(
      found[0].text.find("lost; held by global g_cache (cache.cc:4) until its destructor or an exit handler ran."),
      std::string::npos)
      << found[0].text;
}

TEST(LeakFindings, AVariableThatHeldLittleOfALeakIsNotTold) {
  report::Report report = server();
  report::StackLeaks leaks = definite({4, 1 << 18});
  report::NamedRoot cache;
  cache.name = "g_cache";
  leaks.exit_holder = report::ExitHolder{cache, {1, 1 << 10}};
  add_stack(report, "make_page", leaks);
  EXPECT_EQ(of_kind(report, FindingKind::kLeak).at(0).text.find("held by"), std::string::npos);
}

report::NamedRoot global(const char* name) {
  report::NamedRoot root;
  root.kind = "global";
  root.name = name;
  return root;
}

// Sentences on what is reachable.
std::vector<std::string> reachable_of(const report::Report& report) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings_of(report)) {
    if (finding.kind == FindingKind::kReachable) texts.push_back(finding.text);
  }
  return texts;
}

TEST(LeakFindings, NameTheVariableThatRetainsMostOrThoseThatDoTogether) {
  report::Report report = server();
  report::Globals& globals = report.globals.emplace();
  globals.entries.push_back(
      {.variable = global("cache"), .direct = {}, .retained = {9, 60 << 10}, .also = {}, .also_from = {}});
  EXPECT_EQ(reachable_of(report),
            std::vector<std::string>{"512.0 KiB still reachable, 60.0 KiB of them by global cache."});
  globals.shared = {90, 300 << 10};
  EXPECT_EQ(reachable_of(report).at(0), "512.0 KiB still reachable, 60.0 KiB of them by global cache.")
      << "it isn't known by which";
  globals.shared_by = {global("first"), global("index")};
  EXPECT_EQ(reachable_of(report).at(0),
            "512.0 KiB still reachable, 300.0 KiB of them by several global variables together: first, index.");
  globals.entries[0].retained.bytes = 301 << 10;
  EXPECT_EQ(reachable_of(report).at(0), "512.0 KiB still reachable, 301.0 KiB of them by global cache.");
  globals.entries[0].retained.bytes = 1 << 10;
  globals.shared.bytes = 2 << 10;
  EXPECT_TRUE(reachable_of(report).empty()) << "that explains nothing";
}

TEST(LeakFindings, PossibleLeaksOfOneFunctionAreOneSentence) {
  report::Report report = server();
  for (int i = 0; i < 3; ++i) add_stack(report, "make_string", possible({2, 40}));
  add_stack(report, "make_list", possible({1, 60}));
  const std::vector<Finding> found = of_kind(report, FindingKind::kLeak);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].text.starts_with("6 blocks, 120 B, allocated in make_string (")) << found[0].text;
  EXPECT_NE(found[0].text.find(" by 3 stacks, possibly lost."), std::string::npos) << found[0].text;
  EXPECT_TRUE(found[1].text.starts_with("1 block, 60 B, allocated in make_list (")) << found[1].text;
  EXPECT_EQ(found[1].stack, 3u);
}

TEST(LeakFindings, OfOneFunctionWhatIsLostAndWhatIsReachableAreASentenceEach) {
  report::Report report = server();
  for (int i = 0; i < 3; ++i) {
    report::StackLeaks leaks = definite({2, 40});
    leaks.in_cycles = {1, 20};
    leaks.reachable = {10, 1 << 17};
    add_stack(report, "make_string", leaks);
  }
  const std::vector<Finding> lost = of_kind(report, FindingKind::kLeak);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_TRUE(lost[0].text.starts_with("6 blocks, 120 B, allocated in make_string (")) << lost[0].text;
  EXPECT_TRUE(lost[0].text.ends_with(") by 3 stacks, lost, 3 of them in cycles.")) << lost[0].text;
  const std::vector<std::string> reachable = reachable_of(report);
  ASSERT_EQ(reachable.size(), 1u);
  EXPECT_TRUE(reachable[0].starts_with("30 blocks, 384.0 KiB, allocated in make_string (")) << reachable[0];
}

TEST(LeakFindings, WithoutANameTheSameInstructionIsOneSite) {
  report::Report report = server();
  for (int i = 0; i < 3; ++i) add_stack(report, "", definite({1, 88}));
  EXPECT_EQ(of_kind(report, FindingKind::kLeak).size(), 1u);
  add_stack(report, "", definite({1, 88}));
  model::Frame frame;
  frame.module = "/bin/server";
  frame.offset = 16;
  report.frames.push_back(frame);
  report.stacks.back().frames =
      report.frames.add(std::vector{static_cast<report::FrameIndex>(report.frames.size() - 1)});
  EXPECT_EQ(of_kind(report, FindingKind::kLeak).size(), 2u);
}

TEST(LeakFindings, SmallPossibleLeaksAreNoWarningAndComeLast) {
  report::Report report = server();
  add_stack(report, "make_string", possible({25, 1555}));
  const std::vector<Finding> leaks = of_kind(report, FindingKind::kLeaks);
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(leaks[0].text, "No definite leaks; possibly leaked 1,555 bytes in 25 blocks.");
  EXPECT_EQ(leaks[0].severity, Severity::kInfo);
  EXPECT_EQ(of_kind(report, FindingKind::kLeak)[0].severity, Severity::kInfo);
  const std::vector<Finding> all = findings_of(report);
  const auto place_of = [&all](FindingKind kind) { return std::ranges::find(all, kind, &Finding::kind) - all.begin(); };
  EXPECT_LT(place_of(FindingKind::kPeak), place_of(FindingKind::kLeaks));
}

TEST(LeakFindings, LargePossibleLeaksAreAWarning) {
  report::Report report = server();
  add_stack(report, "make_string", possible({25, 1 << 15}));
  const Finding leaks = of_kind(report, FindingKind::kLeaks).at(0);
  EXPECT_EQ(leaks.text, "Possibly leaked 32,768 bytes in 25 blocks.");
  EXPECT_EQ(leaks.severity, Severity::kWarning);
}

TEST(LeakFindings, ALeakIsAsGraveAsItsShareOfThePeak) {
  report::Report report = server();
  add_stack(report, "lose", definite({1, 7}));
  EXPECT_EQ(of_kind(report, FindingKind::kLeaks)[0].severity, Severity::kWarning);
  EXPECT_EQ(of_kind(report, FindingKind::kLeak)[0].severity, Severity::kWarning);
  add_stack(report, "lose_more", definite({1, 1 << 15}));
  EXPECT_EQ(of_kind(report, FindingKind::kLeaks)[0].severity, Severity::kBad);
  EXPECT_EQ(of_kind(report, FindingKind::kLeak)[0].severity, Severity::kBad);
  EXPECT_EQ(of_kind(report, FindingKind::kLeak)[1].severity, Severity::kWarning);
}

TEST(LeakFindings, APeakThatIsFreedIsToldByWhoMadeIt) {
  report::Report report = server();
  report.totals.live_bytes = 0;
  report.leaks.reachable = {};
  report.has_events = true;
  add_stack(report, "load_image", {});
  report.stacks[0].peak_bytes = 1 << 20;
  const std::vector<Finding> peak = of_kind(report, FindingKind::kPeak);
  ASSERT_EQ(peak.size(), 2u);
  EXPECT_TRUE(peak[1].text.starts_with("1.0 MiB of the peak, allocated in load_image (")) << peak[1].text;
  EXPECT_EQ(peak[1].stack, 0u);
}

TEST(MappedFindings, SayWhoMappedMoreThanBlocksHave) {
  report::Report report = server();
  add_stack(report, "init_pages", {});
  report::StackEntry& stack = report.stacks.back();
  stack.mapping = true;
  stack.live_bytes = 150 << 20;
  report.totals.mapped.add(model::MappedKind::kPrivate, 160 << 20);
  report.totals.mapped.add(model::MappedKind::kReserved, uint64_t{1} << 38);
  const auto texts = [&] {
    std::vector<std::string> all;
    for (const Finding& finding : of_kind(report, FindingKind::kPeak)) all.push_back(finding.text);
    return all;
  };
  ASSERT_EQ(texts().size(), 2U);
  EXPECT_EQ(texts()[1],
            "160.0 MiB more are mapped at the end, 150.0 MiB of them in init_pages (server+0x0); besides 256.0 GiB "
            "only reserved.");
  report.totals.mapped.remove(model::MappedKind::kPrivate, 150 << 20);
  EXPECT_EQ(texts()[1], "At most 160.0 MiB more were mapped; besides 256.0 GiB only reserved.");
  report.totals.mapped = {};
  report.totals.mapped.add(model::MappedKind::kPrivate, 1 << 18);
  EXPECT_EQ(texts().size(), 1U) << "less than the blocks";
}

TEST(Findings, FewStacksWithoutPythonFramesAreNoWarning) {
  report::Report report = server();
  report.totals.allocations = 10'000;
  report.capture.notes = {{.kind = model::NoteKind::kFramesNotPlaced, .numbers = {99}}};
  const auto severity_of_note = [&report] {
    for (const Finding& finding : of_kind(report, FindingKind::kUnseen))
      if (finding.text.find("native frames only") != std::string::npos) return finding.severity;
    return Severity::kGood;
  };
  EXPECT_EQ(severity_of_note(), Severity::kInfo);
  report.capture.notes[0].numbers = {100};
  EXPECT_EQ(severity_of_note(), Severity::kWarning);
}

TEST(Findings, SayWhyStacksLackPythonFrames) {
  report::Report report = server();
  const auto text_with = [&report](std::vector<uint64_t> numbers) {
    report.capture.notes = {{.kind = model::NoteKind::kFramesNotPlaced, .numbers = std::move(numbers)}};
    const auto found = of_kind(report, FindingKind::kUnseen);
    return found.empty() ? "" : found[0].text;
  };
  EXPECT_EQ(
      text_with({1, 0, 1, 0, 0, 0}),
      "--python: 1 allocation has native frames only: made without the interpreter's lock or in a subinterpreter.");
  EXPECT_EQ(text_with({7'005, 3, 0, 7'000, 0, 2}),
            "--python: 7,005 allocations have native frames only: 7,000 made too deep in recursion, 3 in signal "
            "handlers, 2 where "
            "the Python frames don't match the native stack.");
  EXPECT_EQ(text_with({12}),
            "--python: 12 allocations have native frames only: made in signal handlers, or without the interpreter's "
            "lock or in a subinterpreter, or too deep in recursion, or by code whose names can't be read or kept, or "
            "where the Python frames don't match the native stack.")
      << "an older trace";
}

TEST(Findings, NameAPlaceWithoutAFunctionByItsModule) {
  report::Report report = server();
  add_stack(report, "", definite({1, 1 << 18}));
  const auto found = of_kind(report, FindingKind::kLeak);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].text.find("allocated at server+0x0, lost"), std::string::npos) << found[0].text;
}

}  // namespace
}  // namespace heaptap::findings
