// Golden files of the views of a leak scan, and of a gate's verdict. HEAPTAP_UPDATE_GOLDEN=1 writes them anew.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "analysis/findings/verdict.h"
#include "analysis/report/view.h"
#include "golden.h"
#include "views/json/json_verdict.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"
#include "views/text/text_verdict.h"

namespace heaptap::text {
namespace {

using test::frame;

const model::Frame kServe = frame("shop::serve(int)", "/src/shop/serve.cc", 12);

report::NamedBlock block(uint64_t number, uint64_t size, const std::string& type = "",
                         const std::string& state = "reachable") {
  return {.number = number,
          .address = 0x5000 + number * 0x100,
          .size_bytes = size,
          .state = state,
          .suppressed = false,
          .type = type,
          .stack_id = 2,
          .function = "operator new",
          .caller = kServe,
          .name = ""};
}

report::NamedRoot global() {
  report::NamedRoot root;
  root.kind = "global";
  root.name = "shop::cache";
  root.file = "/src/shop/cache.cc";
  root.line = 7;
  root.module = "/opt/shop/bin/shop";
  root.offset = 16;
  root.address = 0x555500004010;
  return root;
}

report::NamedRoot stack_root() {
  report::NamedRoot root;
  root.kind = "stack";
  root.thread = 3;
  root.thread_name = "wor\x1bker";
  root.address = 0x7ffc00001000;
  root.frame = frame("run_loop", "/src/shop/loop.cc", 40);
  return root;
}

report::ScanFacts scan(uint32_t number, bool at_end) {
  report::ScanFacts facts;
  facts.number = number;
  facts.at_end = at_end;
  facts.time_ns = number * 1'000'000'000ull;
  facts.stopped_ns = 1'500'000;
  facts.blocks = uint64_t{1000} * number;
  return facts;
}

report::Report example() {
  report::Report report;
  report.capture.command = {"./shop"};
  report.capture.pid = 4711;
  report.capture.ended = true;
  report.capture.exit.code = 0;
  report.leaks.scanned = true;
  report.leaks.scan = scan(2, true);
  report.leaks.scan_count = 2;
  report.leaks.definite = {2, 48};
  report.leaks.suppressed = {1, 24};
  report.leaks.suppressions = {{"known.supp:1", "leak:libodd", {1, 24}}};
  report.leaks.unused_suppressions = {"known.supp:2: leak:gone\x1b[31m"};
  report::HolderChain chain{.root = global(), .pointer = "start", .steps = {}, .left_out = 0};
  chain.steps = {{block(1, 1024, "std::vector<shop::Order*>"), 24, "interior"},
                 {block(5, 48, "evil\x1b[31m\xff"), 8, "start"}};
  report::Holders holders;
  holders.asked = "#2";
  holders.block = block(12, 64, "shop::Order");
  holders.of_stack = {3, 160};
  holders.of_kind = holders.of_stack;
  holders.same_root = {2, 112};
  holders.held = chain;
  report.holders = holders;
  report::RetainedEntry entry;
  entry.own = {1, 1024};
  entry.retained = {30, 9000};
  entry.block = block(1, 1024, "std::vector<shop::Order*>");
  report.retained = report::Retained{.by = "block", .entries = {entry}, .entry_count = 40, .held = {1000, 90'000}};
  report::NamedRoot unknown = global();
  unknown.name = unknown.file = "";
  unknown.offset = 0x4010;
  report.globals = report::Globals{.entries = {{global(), {1, 1024}, {30, 9000}, {3, 96}, {"stack", "register"}},
                                               {unknown, {2, 64}, {2, 64}, {}, {}}},
                                   .entry_count = 5,
                                   .reachable = {55, 9900},
                                   .held = {45, 9700},
                                   .unlisted = {5, 100},
                                   .shared = {8, 536},
                                   .elsewhere = {3, 96},
                                   .shared_by = {global()},
                                   .thread_locals = {1, 100},
                                   .mappings = {2, 20},
                                   .stacks = {7, 80}};
  report.scans = {{scan(1, false), {1, 24}, {}, {}, {10, 1000}, {}, {}},
                  {scan(2, true), {2, 48}, {1, 8}, {}, {9, 9}, {1, 24}, {3, 30}}};
  report::ChangedStack changed{.id = 2, .function = "malloc", .variant = "", .change = {}, .frames = {0}};
  changed.change = {.allocated = {1, 24}, .older = {2, 80}, .remained = {1, 24}, .gone = {}};
  report::ScanChanges changes{
      .from = scan(1, false), .to = scan(2, true), .total = changed.change, .stacks = {changed}, .stack_count = 3};
  report.scan_changes = changes;
  report.frames = {kServe};
  return report;
}

// Of a lost block, and one that a stack held before.
report::Report lost_example() {
  report::Report report = example();
  report::Holders& holders = *report.holders;
  holders = {};
  holders.asked = "0x5c08";
  holders.offset = 8;
  holders.block = block(12, 64, "", "indirect");
  holders.below = report::HolderChain{
      .root = {}, .pointer = "", .steps = {{block(5, 48), 8, "start"}, {block(6, 48), 0, "start"}}, .left_out = 998};
  holders.earlier_scan = 1;
  holders.earlier = report::HolderChain{.root = stack_root(), .pointer = "start", .steps = {}, .left_out = 0};
  return report;
}

findings::Verdict verdict() {
  findings::Verdict made{.trace_path = "a.htap",
                         .possible_counts = true,
                         .limits = {},
                         .baseline_path = "",
                         .growth = {},
                         .remarks = {"2 events were lost"}};
  report::StackEntry stack;
  stack.id = 2;
  stack.function = "malloc";
  stack.allocations = 7;
  stack.peak_bytes = 5000;
  stack.leaks.edit().definite = {2, 48};
  stack.leaks.edit().possible = {1, 8};
  report::FrameTable frames = {kServe};
  stack.frames = frames.add({0});
  made.limits = {{report::LimitKind::kLeaked, 56, 0, {stack}, frames},
                 {report::LimitKind::kPeak, 5000, 4096, {stack}, frames},
                 {report::LimitKind::kLive, 48, 100, {}, {}},
                 {report::LimitKind::kAllocations, 7, 6, {stack}, frames}};
  return made;
}

void expect_plain(const std::string& name, const std::string& text) {
  test::expect_golden(name, text);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << name;
  EXPECT_EQ(text.find(" \n"), std::string::npos) << name;
}

struct NamedView {
  report::View view;
  const char* name;
};

constexpr NamedView kViews[] = {{report::View::kHolders, "holders"},
                                {report::View::kRetained, "retained"},
                                {report::View::kGlobals, "globals"},
                                {report::View::kScans, "scans"},
                                {report::View::kScanChanges, "scan-changes"}};

constexpr json::Form kVersion2{.version = json::Version::kLists};

TEST(LeakReport, RendersEachViewAsItsGoldenFile) {
  for (const NamedView& each : kViews) {
    expect_plain(std::string("leaks_") + each.name + ".txt", render_text(example(), each.view, {}));
    expect_plain(std::string("leaks_") + each.name + ".json", json::render_json(example(), each.view));
    expect_plain(std::string("version2/leaks_") + each.name + ".json",
                 json::render_json(example(), each.view, kVersion2));
  }
  expect_plain("leaks_holders_lost.txt", render_text(lost_example(), report::View::kHolders, {}));
  expect_plain("leaks_suppressed.txt", render_text(example(), report::View::kLeaks, {}));
  expect_plain("leaks_suppressed.json", json::render_json(example(), report::View::kLeaks));
  expect_plain("version2/leaks_suppressed.json", json::render_json(example(), report::View::kLeaks, kVersion2));
}

TEST(LeakReport, IsValidJsonInEachViewAlsoWhenItIsEmpty) {
  for (const NamedView& each : kViews) {
    const auto full = nlohmann::json::parse(json::render_json(example(), each.view));
    EXPECT_EQ(full["format"], std::string("heaptap-") + each.name);
    EXPECT_EQ(nlohmann::json::parse(json::render_json(report::Report{}, each.view))["version"], 3);
    EXPECT_NE(render_text(report::Report{}, each.view, {}), "");
  }
}

// A capture of a whole run, of which all is known.
report::Report whole_run() {
  report::Report report;
  report.capture.from_start = report.capture.ended = true;
  report.leaks.scanned = true;
  return report;
}

// Of leaks, the peak, what is live and allocations.
std::array<report::Certainty, 4> certainties(const report::Report& report, bool is_early_scan = false) {
  return {report::certainty_of(report, report::LimitKind::kLeaked, is_early_scan),
          report::certainty_of(report, report::LimitKind::kPeak, is_early_scan),
          report::certainty_of(report, report::LimitKind::kLive, is_early_scan),
          report::certainty_of(report, report::LimitKind::kAllocations, is_early_scan)};
}

TEST(Verdict, OfAWholeRunAllIsCertain) {
  using enum report::Certainty;
  EXPECT_EQ(certainties(whole_run()), (std::array{kExact, kExact, kExact, kExact}));
}

TEST(Verdict, WhatIsMissingMakesFiguresUncertain) {
  using enum report::Certainty;
  report::Report lost = whole_run();
  lost.known.saw_all = lost.known.follows = false;
  EXPECT_EQ(certainties(lost), (std::array{kAtLeast, kUnknown, kUnknown, kAtLeast}));
  report::Report paused = whole_run();
  paused.known.saw_all = false;  // what was allocated meanwhile alone is missing
  EXPECT_EQ(certainties(paused), (std::array{kAtLeast, kAtLeast, kAtLeast, kAtLeast}));
  report::Report attached = whole_run();
  attached.capture.from_start = false;
  EXPECT_EQ(certainties(attached), (std::array{kAtLeast, kUnknown, kUnknown, kAtLeast}));
  report::Report cut = whole_run();
  cut.capture.truncated = true;
  EXPECT_EQ(certainties(cut), (std::array{kAtLeast, kAtLeast, kUnknown, kAtLeast}));
  report::Report running = whole_run();
  running.capture.ended = false;
  EXPECT_EQ(certainties(running), (std::array{kAtLeast, kAtLeast, kUnknown, kAtLeast}));
}

TEST(Verdict, LeaksOfAnEarlyScanAndOfUnknownBlocksAreAtLeastThose) {
  using enum report::Certainty;
  EXPECT_EQ(certainties(whole_run(), true), (std::array{kAtLeast, kExact, kExact, kExact}));
  report::Report unknown = whole_run();
  unknown.leaks.unknown = {1, 8};
  EXPECT_EQ(certainties(unknown), (std::array{kAtLeast, kExact, kExact, kExact}));
}

TEST(Verdict, WhatWasNotMeasuredHasNoFigure) {
  using enum report::Certainty;
  report::Report report = whole_run();
  report.leaks.scanned = false;
  report.totals.set_peak_unknown();
  report.totals.set_live_unknown();
  EXPECT_EQ(certainties(report), (std::array{kNone, kNone, kNone, kExact}));
}

TEST(Verdict, SaysWhatItsListLeavesOut) {
  findings::Verdict most = verdict();
  most.limits.front().figure = 200;
  const std::string text = render_verdict(most, {});
  EXPECT_NE(text.find("  (144 B more in other stacks: -n N shows more)\nFAIL: peak"), std::string::npos) << text;
  EXPECT_EQ(render_verdict(verdict(), {}).find("more in other stacks"), std::string::npos);
}

TEST(Verdict, ShowsEachLimitAndWhatBrokeIt) {
  expect_plain("check.txt", render_verdict(verdict(), {}));
  expect_plain("check.json", json::render_verdict_json(verdict()));
  expect_plain("version2/check.json", json::render_verdict_json(verdict(), json::Version::kLists));
  EXPECT_FALSE(verdict().passed());
  EXPECT_TRUE(findings::Verdict{}.passed());
}

}  // namespace
}  // namespace heaptap::text
