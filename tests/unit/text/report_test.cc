// Golden files: HEAPTAP_UPDATE_GOLDEN=1 writes them anew.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sstream>

#include "analysis/findings/findings.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/text_safe.h"
#include "analysis/report/call_tree.h"
#include "analysis/report/process_sums.h"
#include "analysis/report/view.h"
#include "common/base/safe_text.h"
#include "golden.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

namespace heaptap::text {
namespace {

using test::expect_golden;
using test::frame;

report::StackEntry stack(report::FrameTable& table, uint64_t id, uint64_t live,
                         const std::vector<report::FrameIndex>& frames) {
  report::StackEntry made;
  made.id = id;
  made.function = "malloc";
  made.allocations = 100 * id;
  made.live_blocks = live == 0 ? 0 : 3;
  made.releases = made.allocations.counted() - made.live_blocks.counted();
  made.allocated_bytes = 5000 * id + live;
  made.live_bytes = live;
  made.peak_bytes = live + 100;
  made.temporary_allocations = 7 * id;
  made.lifetime_ns = 1'000'000 * id;
  made.threads = {1, 2};
  made.frames = table.add(frames);
  return made;
}

model::MappedLevels mapped_levels() {
  model::MappedLevels levels;
  levels.add(model::MappedKind::kPrivate, 1 << 20);
  levels.remove(model::MappedKind::kPrivate, (1 << 20) - 8192);
  levels.add(model::MappedKind::kReserved, 1 << 30);
  levels.add(model::MappedKind::kFile, 4096);
  return levels;
}

report::Report example() {
  report::Report report;
  model::Capture& capture = report.capture;
  capture.command = {"./shop", "--port", "80"};
  capture.executable = "/opt/shop/bin/shop";
  capture.pid = 4711;
  capture.architecture = "x86_64";
  capture.via = "agent";
  capture.time_resolution_ns = 1'000'000;
  capture.heaptap_version = "0.1.0";
  capture.ended = true;
  capture.exit.code = 3;
  capture.duration_ns = 12'340'000'000;
  capture.event_count = 1197;
  capture.lost_events = 2;
  capture.notes = {{.name = "/usr/lib/libodd.so can't be read"}};
  report.totals = {.allocations = 600,
                   .releases = 594,
                   .allocated_bytes = 47'222,
                   .temporary_allocations = 42,
                   .live_blocks = 6,
                   .live_bytes = 17'222,
                   .peak_live_bytes = 20'000,
                   .peak_live_blocks = 44,
                   .mapped_live_bytes = (1 << 30) + 8192 + 4096,
                   .peak_mapped_bytes = (1 << 30) + (1 << 20),
                   .mapped = mapped_levels(),
                   .resident = report::Resident{.time_ns = 12'330'000'000,
                                                .bytes = 30 << 20,
                                                .kinds = report::ResidentKinds{24 << 20, 2 << 20, 4 << 20},
                                                .swapped_bytes = 8192,
                                                .log_bytes = 3 << 20,
                                                .peak_bytes = 31 << 20},
                   .bad_releases = 0,
                   .double_releases = 1,
                   .mismatched_releases = 2,
                   .unknown_releases = 0,
                   .peak_time_ns = 3'000'000'000};
  enum : report::FrameIndex { kMain, kServe, kPushBack, kLog, kEvil };
  report.frames = {frame("main", "/src/shop/main.cc", 70), frame("shop::serve(int)", "/src/shop/serve.cc", 12),
                   frame("std::vector<shop::Order, std::allocator<shop::Order> >::push_back(shop::Order const&)",
                         "/usr/include/c++/12/bits/stl_vector.h", 1280),
                   frame("shop::log(char const*)"), frame("evil\x1b[31m\xff")};
  report.frames.all()[kPushBack].inlined = true;
  report.stacks = {stack(report.frames, 2, 16'000, {kPushBack, kServe, kMain}),
                   stack(report.frames, 1, 1222, {kLog, kServe, kMain}), stack(report.frames, 3, 0, {kEvil, kMain})};
  report.stacks[2].end = wire::StackEnd::kUnreadable;
  report.stack_count = 5;
  report.sort_key = "usage";
  report.errors_requested = true;
  report::ErrorEntry error{.kind = "mismatched",
                           .function = "operator delete",
                           .variant = "sized",
                           .address = 0xabc0,
                           .count = 2,
                           .frames = {kServe},
                           .allocated = report::ErrorEntry::Origin{"malloc", "", 24, {kMain}},
                           .released = {}};
  report.errors = {error};
  report.sizes->classes = {{16, 31, 500, 10'000, 5, 120}, {32, 63, 100, 3'700, 1, 32}};
  report.sizes->top = {{24, 400, 5}, {16, 100, 0}, {37, 100, 1}};
  report.lifetimes = std::vector<report::LifetimeClass>{{0, 1'000'000, 500, 12'000}, {1'000'000, 2'000'000, 94, 2'000}};
  report.timeline = {{4'000'000'000, 18'000, 40, 20'000, 400, 360, (1 << 30) + (1 << 20), 1 << 20},
                     {8'000'000'000, 17'222, 6, 18'500, 200, 234, (1 << 30) + 8192, 8192, 30 << 20}};
  report.threads =
      std::vector<report::ThreadEntry>{{1, 4711, "shop", 400, 394, 40'000}, {2, 4712, "", 200, 200, 7'222}};
  report.blocks = std::vector<report::BlockEntry>{{17, 0x5000, 8000, 1'000'000, 2, 2, "malloc", kServe}};
  report.symbol_hints = {{.path = "/usr/lib/libodd.so",
                          .lack = model::SymbolHint::Lack::kSymbols,
                          .without_names = true,
                          .finds_packages = true}};
  report.trace_path = "heaptap.shop.4711.htap";
  return report;
}

// Of a trace of an earlier version.
TEST(Report, SaysOfUnknownMappingsThatTheyMayBeReserved) {
  report::Report report = example();
  report.totals.mapped = {};
  report.totals.mapped.add(model::MappedKind::kUnknown, 1 << 30);
  const std::string end = render_end_summary(report, {});
  EXPECT_NE(end.find("how much was only reserved is unknown"), std::string::npos) << end;
}

// An aggregated trace whose table of blocks was full: releases are missing.
TEST(Report, LeaksOfUnknownReleasesAreAnUpperBoundInBytesAndBlocks) {
  report::Report report = example();
  report.totals.set_live_unknown();
  for (report::StackEntry& stack : report.stacks) stack.set_live_unknown();
  const std::string text = render_text(report, report::View::kLeaks, {});
  EXPECT_NE(text.find("  not freed               unknown   at most 16.8 KiB in 6 blocks\n"), std::string::npos) << text;
  EXPECT_NE(text.find("#2  at most 15.6 KiB in 3 blocks not freed"), std::string::npos) << text;
}

struct NamedView {
  report::View view;
  const char* name;
};

constexpr NamedView kViews[] = {
    {report::View::kSummary, "summary"},     {report::View::kLeaks, "leaks"},       {report::View::kTop, "top"},
    {report::View::kTree, "tree"},           {report::View::kStats, "stats"},       {report::View::kSizes, "sizes"},
    {report::View::kLifetimes, "lifetimes"}, {report::View::kTimeline, "timeline"}, {report::View::kBlocks, "blocks"}};

constexpr json::Form kVersion2{.version = json::Version::kLists};

TEST(Report, RendersEachViewAsItsGoldenFile) {
  for (const NamedView& each : kViews) {
    expect_golden(std::string("report_") + each.name + ".txt", render_text(example(), each.view, {}));
    expect_golden(std::string("report_") + each.name + ".json", json::render_json(example(), each.view));
    expect_golden(std::string("version2/report_") + each.name + ".json",
                  json::render_json(example(), each.view, kVersion2));
  }
  expect_golden("report_tree_bottom_up.txt", render_text(example(), report::View::kTree, {.bottom_up = true}));
  expect_golden("report_end_summary.txt", render_end_summary(example(), {.width = 0}));
}

report::Report example_of_moment() {
  report::Report report = example();
  report.window.emplace();
  report.window->to = "peak";
  report.window->to_ns = 4'000'000'000;
  report.totals.resident = report::Resident{.time_ns = 3'990'000'000,
                                            .bytes = 30 << 20,
                                            .kinds = report::ResidentKinds{24 << 20, 5 << 20, 1 << 20},
                                            .log_bytes = 512 << 10};
  report.moment_pages = report::MomentPages{.at = report::MomentPages::At::kPeak,
                                            .time_ns = 4'000'000'000,
                                            .page_bytes = 4096,
                                            .placed = {.blocks = 25, .bytes = 17'000},
                                            .unplaced = {.blocks = 4, .bytes = 1000},
                                            .pages = 12,
                                            .rest_bytes = 12 * 4096 - 17'000,
                                            .stacks = {{.stack_id = 1,
                                                        .function = "malloc",
                                                        .frames = report.frames.copy(report.stacks[0].frames),
                                                        .live = {.blocks = 25, .bytes = 17'000},
                                                        .pages = 12,
                                                        .kept_bytes = 12 * 4096 - 17'000},
                                                       {.stack_id = 2,
                                                        .function = "malloc",
                                                        .frames = report.frames.copy(report.stacks[1].frames),
                                                        .unplaced = {.blocks = 4, .bytes = 1000}}},
                                            .stack_count = 2,
                                            .nearest_scan = 1,
                                            .nearest_scan_ns = 8'000'000'000};
  return report;
}

TEST(Report, PagesOfAMomentHaveGoldenFiles) {
  const report::Report report = example_of_moment();
  expect_golden("report_moment_pages.txt", render_text(report, report::View::kFragmentation, {.width = 80}));
  expect_golden("report_moment_pages.json", json::render_json(report, report::View::kFragmentation));
  expect_golden("version2/report_moment_pages.json",
                json::render_json(report, report::View::kFragmentation, kVersion2));
}

TEST(Report, PagesOfAMomentSayWhatIsUnknown) {
  report::Report report = example_of_moment();
  report.totals.resident.reset();
  report.moment_pages->at = report::MomentPages::At::kMark;
  report.window->to = "evil\x1b[0m";
  report.moment_pages->knows_all_blocks = report.moment_pages->knows_all_releases = false;
  report.moment_pages->nearest_scan = 0;
  const std::string text = render_text(report, report::View::kFragmentation, {});
  for (const char* said : {"How much was resident then is unknown", "live at mark evil\\x1b[0m, after 4.00 s\n",
                           "beyond their own: unknown, since releases weren't recorded",
                           "Blocks that weren't recorded aren't among these"}) {
    EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
  }
  EXPECT_EQ(text.find("at most 3"), std::string::npos) << text;
  EXPECT_EQ(text.find("--scan"), std::string::npos) << text;
}

TEST(Report, OfSystemLibrariesWhatIsKeptIsOneLine) {
  report::Report report = example_of_moment();
  std::vector<report::StackKeep> stacks = report.moment_pages->stacks;
  stacks[0].purpose = report::Purpose::kEmergencyPool;
  stacks[1].live = {.blocks = 1, .bytes = 500};
  stacks[1].unplaced = {};
  report.moment_pages->stacks = stacks;
  const auto text_of = [&report] { return render_text(report, report::View::kFragmentation, {.width = 0}); };
  const auto says = [&text_of](const char* words) { return text_of().find(words) != std::string::npos; };
  const char* const kPlain =
      "\n(16.6 KiB in 25 blocks of system libraries: libstdc++'s emergency pool for exceptions)\n";
  EXPECT_TRUE(says("\n(at most 31.4 KiB kept resident by 16.6 KiB in 25 blocks of system libraries: ")) << text_of();
  EXPECT_FALSE(says("#1  ")) << text_of();
  EXPECT_FALSE(says("more: -n N")) << text_of();
  report.moment_pages->knows_all_blocks = false;
  EXPECT_TRUE(says(kPlain)) << text_of();

  report.totals.resident_parts = report::ResidentParts{.bytes = 1 << 30};
  report.fragmentation.emplace();
  report.fragmentation->stacks = stacks;
  report.fragmentation->stack_count = 2;
  report.moment_pages.reset();
  EXPECT_TRUE(says("\n(31.4 KiB kept resident by 16.6 KiB in 25 blocks of system libraries: ")) << text_of();
  EXPECT_FALSE(says("#1  ")) << text_of();
  report.filter = "--module libstdc++";
  EXPECT_TRUE(says("#1  ")) << text_of();
  EXPECT_FALSE(says("of system libraries")) << text_of();
}

TEST(Report, ArenasKeepTheirNames) {
  report::Report report = example();
  report.totals.resident_parts = report::ResidentParts{.bytes = 1 << 30};
  report.fragmentation.emplace();
  for (const auto kind : {model::RegionKind::kMappedBlock, model::RegionKind::kAllocator})
    report.fragmentation->arenas.push_back({.kind = kind, .resident_bytes = (uint64_t{1} << 30) - 1});
  const std::string text = render_text(report, report::View::kFragmentation, {.width = 60});
  EXPECT_NE(text.find("\n  mapped blocks "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  another allocator "), std::string::npos) << text;
}

TEST(Report, IsValidJsonInEachViewAlsoWhenItIsEmpty) {
  for (const NamedView& each : kViews) {
    const auto full = nlohmann::json::parse(json::render_json(example(), each.view));
    EXPECT_EQ(full["format"], std::string("heaptap-") + each.name);
    EXPECT_EQ(full["version"], 3);
    EXPECT_EQ(nlohmann::json::parse(json::render_json(report::Report{}, each.view))["version"], 3);
    EXPECT_EQ(nlohmann::json::parse(json::render_json(report::Report{}, each.view, kVersion2))["version"], 2);
  }
}

TEST(Report, SaysNullWhereANumberIsNotKnown) {
  const auto summary = nlohmann::json::parse(json::render_json(example(), report::View::kSummary));
  EXPECT_EQ(summary["leaks"]["scanned"], false);
  EXPECT_TRUE(summary["leaks"]["definite"]["bytes"].is_null());
  EXPECT_TRUE(summary["stacks"][0]["leaks"].is_null());
  const auto version2 = nlohmann::json::parse(json::render_json(example(), report::View::kSummary, kVersion2));
  EXPECT_TRUE(version2["stacks"][0]["leaks"]["definite"]["blocks"].is_null());
}

TEST(Report, LetsNoControlCharacterThrough) {
  for (const NamedView& each : kViews) {
    EXPECT_EQ(render_text(example(), each.view, {}).find('\x1b'), std::string::npos) << each.name;
  }
  EXPECT_NE(render_text(example(), report::View::kSummary, {.color = true}).find("\x1b[1m"), std::string::npos);
}

TEST(Report, NamesTheFramesOfStacksAndErrorsByNodesOfOneTable) {
  const auto summary = nlohmann::json::parse(json::render_json(example(), report::View::kSummary));
  const auto function = [&](const nlohmann::json& stack, size_t place) {
    size_t node = stack["node"];
    for (; place != 0; --place) node = summary["nodes"]["caller"][node];
    return summary["frames"][summary["nodes"]["frame"][node].get<size_t>()]["function"];
  };
  EXPECT_EQ(function(summary["stacks"][0], 1), "shop::serve(int)");
  EXPECT_EQ(function(summary["stacks"][0], 2), "main");
  EXPECT_EQ(function(summary["errors"][0], 0), "shop::serve(int)");
  EXPECT_EQ(function(summary["errors"][0]["allocated"], 0), "main");
}

TEST(Report, WritesALongViewInPiecesThatAreTheSameText) {
  report::Report report = example();
  for (int count = 0; count < 3000; ++count) {
    report.stacks.push_back(report.stacks.front());
    report.stacks.back().frames = report.frames.add(std::vector<report::FrameIndex>(50, 1));
  }
  size_t pieces = 0;
  std::string text;
  json::write_json(report, report::View::kSummary, {}, [&](std::string_view piece) {
    ++pieces;
    text += piece;
    EXPECT_LT(piece.size(), size_t{1} << 19);
  });
  EXPECT_GT(pieces, 6U);
  EXPECT_EQ(text, json::render_json(report, report::View::kSummary));
  EXPECT_EQ(nlohmann::json::parse(text)["stacks"].size(), report.stacks.size());
}

TEST(Report, HasBlocksAndTheTimelineAsAnObjectALine) {
  for (const NamedView& each : kViews) {
    std::string text;
    json::write_ndjson(example(), each.view, [&text](std::string_view piece) { text += piece; });
    EXPECT_EQ(json::has_ndjson(each.view), !text.empty()) << each.name;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(nlohmann::json::parse(line).is_object()) << line;
    }
  }
}

TEST(Report, EndsNoLineWithASpace) {
  for (const NamedView& each : kViews) {
    EXPECT_EQ(render_text(example(), each.view, {}).find(" \n"), std::string::npos) << each.name;
  }
}

// The report of a program that ended with 0 and freed all.
report::Report clean_run() {
  report::Report report;
  report.capture.command = {"./app"};
  report.capture.pid = 7;
  report.capture.ended = true;
  report.capture.exit.code = 0;
  report.capture.duration_ns = 2'000'000;
  report.totals.allocations = 3;
  report.totals.peak_live_bytes = 3000;
  report.leaks.scanned = true;
  report.trace_path = "heaptap.app.7.htap";
  return report;
}

bool says(const report::Report& report, const std::string& words) {
  return render_end_summary(report, {.width = 0}).find(words) != std::string::npos;
}

TEST(EndSummary, SaysThatNothingLeaksWithoutZeros) {
  const std::string text = render_end_summary(clean_run(), {.width = 0});
  EXPECT_TRUE(says(clean_run(), "./app (pid 7) exited with 0 after 2.0 ms: 3 allocations, peak 2.9 KiB")) << text;
  EXPECT_TRUE(says(clean_run(), "heaptap: no leaks\n")) << text;
  EXPECT_EQ(text.find(" 0 B"), std::string::npos) << text;
}

TEST(EndSummary, OfAnAttachedProcessSpeaksOfWhatWasRecorded) {
  report::Report report = clean_run();
  report.capture.from_start = false;
  report.known.leaks = true;
  EXPECT_TRUE(says(report, "heaptap: no leaks in what was recorded\n"));
  report.known.any = false;
  EXPECT_TRUE(says(report, "heaptap: UNKNOWN: no allocation was seen while it was recorded\n"));
  EXPECT_FALSE(says(report, "no leaks"));
}

TEST(EndSummary, SaysHowTheProgramEnded) {
  report::Report report = clean_run();
  report.capture.exit = {.code = {}, .signal = 11};
  EXPECT_TRUE(says(report, "killed by SIGSEGV after"));
  report.capture.exit = {};
  report.capture.detached = true;
  EXPECT_TRUE(says(report, "detached, still running after"));
  report.capture.detached = false;
  EXPECT_TRUE(says(report, "exit status unknown"));
}

TEST(EndSummary, CountsLeaksExactly) {
  report::Report report = clean_run();
  report.leaks.definite = {107, 100'320};
  report.leaks.indirect = {16, 1636};
  EXPECT_TRUE(says(report, "LEAKED 101,956 bytes in 123 blocks (100,320 definitely, 1,636 indirectly lost)\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show leaks heaptap.app.7.htap"));
  report.leaks.indirect = {};
  report.leaks.possible = {1, 8};
  EXPECT_TRUE(says(report, "LEAKED 100,320 bytes in 107 blocks; possibly 8 bytes in 1 block\n"));
}

TEST(EndSummary, NamesTheVariableThatHoldsWhatIsReachable) {
  report::Report report = clean_run();
  report.leaks.reachable = {20, 1 << 20};
  report.totals.live_bytes = 2900;
  report.grows_to_the_end = true;
  report::NamedRoot variable;
  variable.kind = "global";
  variable.name = "cache";
  variable.file = "/src/grow.cc";
  variable.line = 11;
  report.globals = report::Globals{};
  report.globals->entries = {{variable, {1, 24}, {19, 1 << 19}, {}, {}, false}};
  report.globals->entry_count = 1;
  EXPECT_TRUE(says(report, "peak 2.9 KiB (at the end: it was still growing)"));
  EXPECT_TRUE(says(report, "no leaks; 1.0 MiB still reachable, 512.0 KiB of them by global cache (grow.cc:11)\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show leaks --globals heaptap.app.7.htap"));
  report.globals->entries[0].retained.bytes = 1000;
  EXPECT_FALSE(says(report, "cache")) << "it holds hardly anything of it";
}

// A stack with what it held at the peak.
report::StackEntry peak_stack(report::FrameTable& table, uint64_t id, uint64_t bytes, report::FrameIndex frame) {
  report::StackEntry entry;
  entry.id = id;
  entry.function = "malloc";
  entry.allocations = entry.releases = 5;
  entry.peak_bytes = bytes;
  entry.frames = table.add(std::vector{frame});
  return entry;
}

TEST(EndSummary, NamesWhoMadeAPeakThatIsFreed) {
  report::Report report = clean_run();
  report.frames = {frame("load_image", "/src/img.cc", 12), frame("log", "/src/log.cc", 3)};
  report.stacks = {peak_stack(report.frames, 3, 2900, 0), peak_stack(report.frames, 4, 100, 1)};
  EXPECT_TRUE(says(report, "no leaks\nheaptap:   2.8 KiB of the peak: #3  load_image img.cc:12\n"));
  EXPECT_FALSE(says(report, "log.cc")) << "too little of it";
  EXPECT_TRUE(says(report, "next:  heaptap show top heaptap.app.7.htap"));
}

TEST(EndSummary, NamesALeakBeforeThePeak) {
  report::Report report = clean_run();
  report.frames = {frame("load_image", "/src/img.cc", 12), frame("lose", "/src/lose.cc", 3)};
  report.leaks.definite = {1, 8};
  report.totals.live_bytes = 8;
  report::StackEntry leak = peak_stack(report.frames, 4, 8, 1);
  leak.live_blocks = 1;
  leak.live_bytes = 8;
  leak.leaks.edit().definite = {1, 8};
  report.stacks = {leak, peak_stack(report.frames, 3, 2900, 0)};
  EXPECT_TRUE(says(report,
                   "heaptap:   8 bytes in 1 block  #4  lose lose.cc:3\n"
                   "heaptap:   2.8 KiB of the peak: #3  load_image img.cc:12\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show leaks heaptap.app.7.htap"));
}

TEST(EndSummary, PossibleLeaksThatAreSmallComeBehindWhatIsReachable) {
  report::Report report = clean_run();
  report.totals.peak_live_bytes = 1 << 20;
  report.totals.live_bytes = 1 << 20;
  report.leaks.reachable = {20, 1 << 20};
  report.leaks.possible = {25, 1555};
  EXPECT_TRUE(says(report, "no definite leaks; 1.0 MiB still reachable; possibly leaked 1,555 bytes in 25 blocks\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show top heaptap.app.7.htap"));
  report.leaks.possible = {25, 155'500};
  EXPECT_TRUE(says(report, "heaptap: possibly leaked 155,500 bytes in 25 blocks\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show leaks heaptap.app.7.htap"));
  report.leaks.definite = {1, 7};
  EXPECT_TRUE(says(report, "LEAKED 7 bytes in 1 block; possibly 155,500 bytes in 25 blocks\n"));
}

TEST(EndSummary, TellsWhoHoldsWhatSmallLeaksDoNotExplain) {
  report::Report report = clean_run();
  report.totals.peak_live_bytes = (1 << 20) + 7;
  report.totals.live_bytes = (1 << 20) + 7;
  report.leaks.reachable = {256, 1 << 20};
  report.leaks.definite = {1, 7};
  report.frames = {frame("fill_table", "/src/table.cc", 12), frame("lose", "/src/lose.cc", 3)};
  report.stacks = {peak_stack(report.frames, 3, 1 << 20, 0), peak_stack(report.frames, 4, 7, 1)};
  report.stacks[0].leaks.edit().reachable = {256, 1 << 20};
  report.stacks[1].leaks.edit().definite = {1, 7};
  EXPECT_TRUE(says(report,
                   "LEAKED 7 bytes in 1 block\n"
                   "heaptap:   7 bytes in 1 block  #4  lose lose.cc:3\n"
                   "heaptap: 1.0 MiB still reachable\n"
                   "heaptap:   1.0 MiB in 256 blocks  #3  fill_table table.cc:12\n"));
  report.stacks.push_back(peak_stack(report.frames, 5, 7, 0));
  report.stacks[2].leaks.edit().definite = {1, 7};
  report.leaks.definite = {2, 14};
  EXPECT_TRUE(says(report, "  7 bytes in 1 block  #5  fill_table table.cc:12\n")) << "#3 has no leaks";
  const report::Report mapper = clean_run();
  EXPECT_EQ(render_end_summary(report, {.width = 0}, nullptr, &mapper).find("still reachable"), std::string::npos)
      << "the room is that process's";
  report.leaks.definite = {1, 1 << 19};
  EXPECT_FALSE(says(report, "still reachable"));
}

TEST(EndSummary, TellsWhatKeepsFreeMemoryResident) {
  constexpr uint64_t kMib = 1 << 20;
  report::Report report = clean_run();
  report.totals.live_bytes = kMib;
  report.totals.resident_parts = report::ResidentParts{.bytes = 21 * kMib, .live_bytes = kMib, .free_bytes = 20 * kMib};
  report.frames = {frame("hold_one", "/src/frag.cc", 9)};
  report.fragmentation.emplace().stacks.push_back(
      {.stack_id = 3, .function = "malloc", .frames = {0}, .live = {250, kMib}, .kept_bytes = 15 * kMib});
  EXPECT_TRUE(says(report,
                   "heaptap: 21.0 MiB resident: 1.0 live, 20.0 free inside the allocator\n"
                   "heaptap:   15.0 MiB of it kept resident by 250 blocks  #3  hold_one frag.cc:9\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show fragmentation "));
  report.leaks.definite = {1, kMib};
  EXPECT_TRUE(says(report, "20.0 free inside the allocator (heaptap show fragmentation)\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show leaks "));
}

TEST(EndSummary, NamesSitesOfMappedMemoryBehindItsPeak) {
  constexpr uint64_t kMiB = 1 << 20;
  report::Report report = clean_run();
  report.frames = {frame("collect", "/src/gc.cc", 12), frame("open", "/src/map.cc", 3), frame("few", "/src/few.cc", 5)};
  report.totals.mapped.add(model::MappedKind::kPrivate, 100 * kMiB);
  report.totals.mapped.remove(model::MappedKind::kPrivate, 100 * kMiB);
  report.stacks = {peak_stack(report.frames, 3, 0, 0), peak_stack(report.frames, 4, 0, 1),
                   peak_stack(report.frames, 5, 0, 2)};
  const uint64_t at_peak[] = {20 * kMiB, 76 * kMiB, 4 * kMiB};
  for (size_t i = 0; i < report.stacks.size(); ++i) {
    report.stacks[i].mapping = true;
    report.stacks[i].rare.edit().mapped_peak_bytes = at_peak[i];
  }
  EXPECT_TRUE(says(report,
                   "heaptap: mmap: peak 100.0 MiB, 0 B mapped at the end\n"
                   "heaptap:   76.0 MiB of the mapped peak: #4  open map.cc:3\n"
                   "heaptap:   20.0 MiB of the mapped peak: #3  collect gc.cc:12\n"
                   "heaptap: no leaks"));
  report.leaks.definite = {1, 7};
  EXPECT_TRUE(says(report, "next:  heaptap show leaks ")) << "nothing of what was mapped is left";
  report.totals.mapped.add(model::MappedKind::kPrivate, 90 * kMiB);
  EXPECT_TRUE(says(report, "next:  heaptap show top ")) << "the leak doesn't weigh";
  report.leaks.definite = {1, 2 * kMiB};
  EXPECT_TRUE(says(report, "next:  heaptap show leaks "));
}

TEST(EndSummary, NamesLeaksForCertainBeforeLargerPossibleOnes) {
  report::Report report = clean_run();
  report.frames = {frame("hide", "/src/hide.cc", 12), frame("lose", "/src/lose.cc", 3)};
  report.leaks.definite = {1, 300};
  report.leaks.possible = {10, 2000};
  report.stacks = {peak_stack(report.frames, 3, 2000, 0), peak_stack(report.frames, 4, 300, 1)};
  report.stacks[0].live_blocks = 10;
  report.stacks[0].leaks.edit().possible = {10, 2000};
  report.stacks[1].live_blocks = 1;
  report.stacks[1].leaks.edit().definite = {1, 300};
  EXPECT_TRUE(says(report,
                   "heaptap:   300 bytes in 1 block  #4  lose lose.cc:3\n"
                   "heaptap:   2,000 bytes in 10 blocks (possibly)  #3  hide hide.cc:12\n"));
}

TEST(EndSummary, TellsTheLargestProcessOfARun) {
  report::Report report = clean_run();
  report::Report largest = clean_run();
  largest.capture.pid = 8;
  largest.totals.peak_live_bytes = 1 << 20;
  largest.frames = {frame("load_image", "/src/img.cc", 12)};
  largest.stacks = {peak_stack(largest.frames, 3, 1 << 20, 0)};
  largest.trace_path = "heaptap.child.8.htap";
  report.processes = {report::entry_of(report), report::entry_of(largest)};
  const std::string text = render_end_summary(report, {.width = 0}, &largest);
  EXPECT_NE(text.find("exited with 0 after 2.0 ms: 3 allocations, peak 2.9 KiB after 0 ns\n"
                      "heaptap: largest: app (pid 8), peak 1.0 MiB after 0 ns; no leaks\n"
                      "heaptap:   1.0 MiB of the peak: #3  load_image img.cc:12\n"
                      "heaptap: all 2 processes: 6 allocations, no leaks\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("next:  heaptap show top heaptap.child.8.htap\n")) << text;
  report.leaks.definite = {1, 7};
  report.processes.front() = report::entry_of(report);
  const std::string lossy = render_end_summary(report, {.width = 0}, &largest);
  EXPECT_EQ(lossy.find("LEAKED"), std::string::npos) << lossy;
  EXPECT_NE(lossy.find("all 2 processes: 6 allocations, leaked 7 bytes in 1 block\n"), std::string::npos) << lossy;
}

TEST(EndSummary, TellsTheLeaksOfAProcessThatTheFirstOneStarted) {
  report::Report report = clean_run();
  report.leaks.reachable = {3, 300};
  report::Report child = clean_run();
  child.capture.pid = 8;
  child.leaks.definite = {1, 300};
  child.frames = {frame("lose", "/src/lose.cc", 3)};
  child.stacks = {peak_stack(child.frames, 4, 300, 0)};
  child.stacks[0].leaks.edit().definite = {1, 300};
  child.trace_path = "heaptap.child.8.htap";
  report.processes = {report::entry_of(report), report::entry_of(child)};
  ASSERT_EQ(report::leaking_of_run(report.processes), &report.processes[1]);
  const std::string text = render_end_summary(report, {.width = 0}, &child);
  EXPECT_NE(text.find("3 allocations, peak 2.9 KiB after 0 ns\n"
                      "heaptap: app (pid 8): LEAKED 300 bytes in 1 block\n"
                      "heaptap:   300 bytes in 1 block  #4  lose lose.cc:3\n"
                      "heaptap:   300 B of the peak: #4  lose lose.cc:3\n"
                      "heaptap: all 2 processes: 6 allocations, leaked 300 bytes in 1 block\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("next:  heaptap show leaks heaptap.child.8.htap\n")) << text;
  report.processes[0].leaks.definite = {1, 7};
  EXPECT_EQ(report::leaking_of_run(report.processes), nullptr);  // its own come first
}

TEST(EndSummary, NextRecordsTheChildrenThatRanUnrecorded) {
  report::Report report = clean_run();
  const auto next_of = [&report] {
    const std::string text = render_end_summary(report, {.width = 0});
    return text.substr(text.rfind("next:  "));
  };
  report.capture.notes = {{.kind = model::NoteKind::kChildrenNotFollowed, .numbers = {1}}};
  report.capture.command = {"./run all", "3"};
  EXPECT_EQ(next_of(), "next:  heaptap run -f './run all' 3\n");
  report.capture.command.emplace_back("\x1b[2J");
  EXPECT_TRUE(next_of().starts_with("next:  heaptap show ")) << next_of();
  report.capture.command = {std::string(1000, 'x')};
  EXPECT_TRUE(next_of().starts_with("next:  heaptap show ")) << next_of();
  report.capture.command = {"./app"};
  report.capture.from_start = false;
  EXPECT_TRUE(next_of().starts_with("next:  heaptap show ")) << next_of();
  report.capture.from_start = true;
  report.leaks.definite = {1, 7};
  EXPECT_TRUE(next_of().starts_with("next:  heaptap show leaks ")) << next_of();
}

TEST(EndSummary, TellsWhoMappedMostOfARun) {
  constexpr uint64_t kMiB = 1 << 20;
  report::Report report = clean_run();
  report::Report mapper = clean_run();
  mapper.capture.pid = 8;
  mapper.totals.mapped.add(model::MappedKind::kPrivate, 100 * kMiB);
  mapper.frames = {frame("collect", "/src/gc.cc", 12)};
  mapper.stacks = {peak_stack(mapper.frames, 3, 0, 0)};
  mapper.stacks[0].mapping = true;
  mapper.stacks[0].rare.edit().mapped_peak_bytes = 60 * kMiB;
  mapper.trace_path = "heaptap.child.8.htap";
  report.processes = {report::entry_of(report), report::entry_of(mapper)};
  ASSERT_EQ(report::mapper_of_run(report.processes), &report.processes[1]);
  const std::string text = render_end_summary(report, {.width = 0}, nullptr, &mapper);
  EXPECT_NE(
      text.find("heaptap:   app (pid 8) exited with 0, peak 2.9 KiB, 100.0 MiB mapped, no leaks: heaptap.child.8.htap\n"
                "heaptap:     60.0 MiB of the mapped peak: #3  collect gc.cc:12\n"),
      std::string::npos)
      << text;
}

TEST(EndSummary, BeginsWithTheProcessThatMappedMostWhereLeaksAreSmallAgainstThat) {
  constexpr uint64_t kMiB = 1 << 20;
  report::Report report = clean_run();
  report.leaks.definite = {20, 1215};  // much of its own memory
  report.frames = {frame("lose", "/src/driver.cc", 3)};
  report.stacks = {peak_stack(report.frames, 1, 1215, 0)};
  report.stacks[0].leaks.edit().definite = {20, 1215};
  report::Report mapper = clean_run();
  mapper.capture.pid = 8;
  mapper.leaks.definite = {1, 7};
  mapper.leaks.possible = {3, 30};
  mapper.totals.mapped.add(model::MappedKind::kPrivate, 100 * kMiB);
  mapper.frames = {frame("collect", "/src/gc.cc", 12)};
  mapper.stacks = {peak_stack(mapper.frames, 3, 0, 0)};
  mapper.stacks[0].mapping = true;
  mapper.stacks[0].rare.edit().mapped_peak_bytes = 60 * kMiB;
  for (uint32_t i = 0; i < 3; ++i) {
    mapper.frames.push_back(frame("lose", "/src/lex.cc", i));
    mapper.stacks.push_back(peak_stack(mapper.frames, 4 + i, 10, 1 + i));
    mapper.stacks.back().leaks.edit().possible = {1, 10};
  }
  mapper.trace_path = "heaptap.child.8.htap";
  report.processes = {report::entry_of(report), report::entry_of(mapper)};
  ASSERT_EQ(report::largest_of_run(report.processes), &report.processes[1]);
  const std::string text = render_end_summary(report, {.width = 0}, &mapper, &mapper);
  EXPECT_NE(text.find("3 allocations, peak 2.9 KiB after 0 ns\n"
                      "heaptap: largest: app (pid 8), peak 2.9 KiB after 0 ns, 100.0 MiB mapped; LEAKED 7 bytes in 1 "
                      "block; possibly 30 bytes in 3 blocks\n"
                      "heaptap:   60.0 MiB of the mapped peak: #3  collect gc.cc:12\n"
                      "heaptap: app (pid 7): LEAKED 1,215 bytes in 20 blocks\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("of the mapped peak"), text.rfind("of the mapped peak")) << text;
  EXPECT_EQ(text.find("#6"), std::string::npos) << "two sites of small leaks are enough: " << text;
  EXPECT_TRUE(text.ends_with("next:  heaptap show top heaptap.child.8.htap\n")) << text;
}

TEST(Report, SumsUpWhatLibrariesKeep) {
  report::Report report = clean_run();
  report.leaks.scanned = false;
  report.frames = {frame("IO_file_doallocate", "", 0), frame("work", "/src/work.cc", 5)};
  report.stacks = {peak_stack(report.frames, 1, 4096, 0), peak_stack(report.frames, 2, 100, 1)};
  report.stacks[0].purpose = report::Purpose::kFileBuffers;
  report.stacks[0].live_blocks = 1;
  report.stacks[0].live_bytes = 4096;
  report.stack_count = 2;
  for (const report::View view : {report::View::kSummary, report::View::kTop}) {
    const std::string text = render_text(report, view, {.width = 0});
    EXPECT_EQ(text.find("IO_file_doallocate"), std::string::npos) << text;
    EXPECT_NE(text.find("work"), std::string::npos) << text;
    EXPECT_NE(text.find("(4.0 KiB in 1 block not freed, of system libraries: glibc's buffers of files)"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("more: -n N"), std::string::npos) << text;
  }
}

TEST(EndSummary, NamesWhoMakesTemporaryAllocations) {
  report::Report report = clean_run();
  report.frames = {frame("format", "/src/text.cc", 5)};
  report.totals.allocations = report.totals.temporary_allocations = 10'000;
  report.totals.allocated_bytes = 1'000'000;
  report.stacks = {peak_stack(report.frames, 2, 100, 0)};
  report.stacks[0].temporary_allocations = 10'000;
  EXPECT_TRUE(says(report, "heaptap:   10,000 temporary allocations: #2  format text.cc:5\n"));
  EXPECT_TRUE(says(report, "next:  heaptap show top heaptap.app.7.htap"));
}

TEST(EndSummary, KnowsNothingOfLeaksWithoutAScan) {
  report::Report report = clean_run();
  report.leaks.scanned = false;
  report.totals.live_bytes = 2048;
  report.totals.live_blocks = 2;
  EXPECT_TRUE(says(report, "2.0 KiB not freed in 2 blocks (no leak scan: leaks unknown)"));
  EXPECT_FALSE(says(report, "no leaks"));
}

TEST(EndSummary, AddsUpBadReleasesOfOnePlace) {
  report::Report report = clean_run();
  report.frames = {frame("main", "/src/df.cc", 3), frame("main", "/src/df.cc", 1)};
  report::ErrorEntry twice;
  twice.kind = "double";
  twice.function = "free";
  twice.frames = {0};
  twice.allocated = report::ErrorEntry::Origin{"malloc", "", 24, {1}};
  report.errors = {twice, twice};
  EXPECT_TRUE(says(report, "heaptap: 2 double frees at df.cc:3, allocated at df.cc:1\n"));
}

report::ProcessEntry child_of_clean_run(uint32_t pid) {
  report::ProcessEntry process;
  process.capture = clean_run().capture;
  process.capture.pid = pid;
  process.leaks.scanned = true;
  process.trace_path = "heaptap.child.htap";
  return process;
}

TEST(EndSummary, SaysThatProcessesLeakNothingOnlyWhereThatIsKnown) {
  report::Report report = clean_run();
  report.processes = {child_of_clean_run(7), child_of_clean_run(8)};
  EXPECT_TRUE(says(report, "all 2 processes: 0 allocations, no leaks\n"));
  EXPECT_TRUE(says(report, "app (pid 8) exited with 0, peak 0 B, no leaks: heaptap.child.htap\n"));
  report.processes[1].known.leaks = false;
  EXPECT_TRUE(says(report, "all 2 processes: 0 allocations, no leaks found\n"));
  EXPECT_TRUE(says(report, "peak 0 B, no leaks found: heaptap.child.htap\n"));
  report.processes[1].leaks.possible = {1, 8};
  EXPECT_TRUE(says(report, "all 2 processes: 0 allocations, possibly leaked 8 bytes in 1 block\n"));
  report.processes[1].failure = "it is gone";
  EXPECT_TRUE(says(report, "all 2 processes: 0 allocations; 1 trace can't be read\n"));
  report.processes[1].failure.clear();
  report.processes[1].leaks.scanned = false;
  EXPECT_TRUE(says(report, "all 2 processes: 0 allocations; leaks of 1 process unknown\n"));
}

TEST(EndSummary, HasAtMostTwelveLines) {
  report::Report report = example();
  for (int count = 0; count < 50; ++count) {
    report.capture.notes.push_back({.name = "a note"});
    report.symbol_hints.push_back({.path = "/lib/libodd.so", .finds_packages = true});
    report.stacks.push_back(report.stacks.front());
  }
  report.capture.truncated = true;
  const std::string text = render_end_summary(report, {.width = 0});
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12);
  EXPECT_NE(text.find("heaptap show summary heaptap.shop.4711.htap"), std::string::npos);
}

TEST(Running, SaysUpToWhenAllIsKnown) {
  report::Report report = example();
  report.capture.exit = {};
  report.capture.ended = false;
  report.capture.running = report.capture.truncated = true;
  report.capture.known_until_ns = 4'010'000'000;
  report.capture.damage = "still being recorded: known up to 4.01 s";
  const std::string said = "\n! " + report.capture.damage + "\n";
  EXPECT_NE(render_text(report, report::View::kSummary, {}).find(said), std::string::npos);
  EXPECT_NE(render_end_summary(report, {}).find("! " + report.capture.damage + "\n"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(json::render_json(report, report::View::kSummary))["capture"]["known_until_ns"],
            4'010'000'000);
  EXPECT_EQ(nlohmann::json::parse(json::render_json(report, report::View::kSummary))["capture"]["running"], true);
  const std::vector<findings::Finding> findings = findings::findings_of(report);
  EXPECT_EQ(findings.front().severity, findings::Severity::kInfo);
  EXPECT_EQ(findings.front().text, "./shop is still being recorded.");
  EXPECT_TRUE(std::ranges::any_of(findings, [&](const findings::Finding& finding) {
    return finding.text == "It is " + report.capture.damage + ".";
  }));
}

TEST(SafeText, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(base::safe_text("a\x1b[0m\n\t\x7f"), "a\\x1b[0m\\x0a\\x09\\x7f");
  EXPECT_EQ(base::safe_text("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(base::safe_text("\xe2\x80\xae"), "\\xe2\\x80\\xae");
  EXPECT_EQ(base::safe_text("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  EXPECT_EQ(base::safe_text("\xff\xc3"), "\\xff\\xc3");
}

TEST(ShortName, LeavesOutParametersBeforeTemplateArguments) {
  EXPECT_EQ(findings::short_name("f(int)", 20), "f(int)");
  EXPECT_EQ(findings::short_name("name(one, two, three)", 20), "name(...)");
  EXPECT_EQ(findings::short_name("name() const", 5), "name() const" + std::string());
  EXPECT_EQ(findings::short_name("std::map<int, long>::find(int const&)", 24), "std::map<...>::find(...)");
  EXPECT_EQ(findings::short_name("bool operator< <unsigned long>(A const&, B const&)", 25),
            "bool operator< <...>(...)");
  EXPECT_EQ(findings::short_name("S::operator()(std::vector<int, std::allocator<int> >)", 24), "S::operator()(...)");
  EXPECT_EQ(findings::short_name("abcdefghijklmnopqrstuvwxyz", 13), "abcde...vwxyz");
}

TEST(CallTree, WeighsEachBranchAsMuchAsItsChildrenTogether) {
  const report::TreeNode root = report::build_top_down_tree(
      example(), report::Weight::kAllocatedBytes, [](const report::FrameList& frames) { return frames.size(); });
  uint64_t sum = 0;
  for (const report::TreeNode& child : root.children) sum += child.weight;
  EXPECT_EQ(root.weight, sum);
  ASSERT_EQ(root.children.size(), 1u);
  EXPECT_EQ(example().frames[root.children[0].frame].function, "main");
  EXPECT_EQ(root.children[0].children.size(), 2u);
}

}  // namespace
}  // namespace heaptap::text
