// How stacks of two recordings are matched, and what a comparison says of them. The reports are made up.
#include "analysis/query/compare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/findings/findings.h"
#include "analysis/query/line_map.h"
#include "golden.h"
#include "views/json/json_comparison.h"
#include "views/text/text_comparison.h"

namespace heaptap::query {
namespace {

using report::Figure;

const std::string kApp = "/bin/app";
const std::string kLibrary = "/lib/libc.so.6";

// A frame of the program, by function and line; its offset follows from them unless the build differs.
model::Frame at(const std::string& function, uint32_t line, const std::string& file = "/src/app.cc") {
  return {.function = function,
          .symbol = "",
          .module = kApp,
          .offset = 0x1000 + line,
          .address = 0,
          .file = file,
          .line = line,
          .inlined = false};
}

model::Frame inlined(const std::string& function, uint32_t line) {
  model::Frame frame = at(function, line);
  frame.inlined = true;
  return frame;
}

model::Frame unnamed(uint64_t offset, const std::string& module = kApp) {
  return {.function = "",
          .symbol = "",
          .module = module,
          .offset = offset,
          .address = 0,
          .file = "",
          .line = 0,
          .inlined = false};
}

class Recorded {
 public:
  explicit Recorded(const std::string& build) { report_.modules = {{kApp, build}, {kLibrary, "libc"}}; }

  Recorded& stack(uint64_t live_bytes, const std::vector<model::Frame>& frames, const std::string& function = "malloc",
                  uint64_t allocations = 1) {
    report::StackEntry& entry = report_.stacks.emplace_back();
    entry.id = report_.stacks.size();
    entry.function = function;
    entry.mapping = function == "mmap";
    entry.allocations = allocations;
    entry.allocated_bytes = entry.live_bytes = live_bytes;
    entry.live_blocks = live_bytes == 0 ? 0 : 1;
    entry.frames = report_.frames.add(report::FrameList(frames));
    if (!entry.mapping) {
      report_.totals.live_bytes += live_bytes;
      report_.totals.allocated_bytes += live_bytes;
      report_.totals.allocations += allocations;
    }
    return *this;
  }

  Recorded& scanned(uint64_t stack, uint64_t lost_bytes) {
    report_.leaks.scanned = true;
    for (report::StackEntry& entry : report_.stacks) {
      if (!entry.leaks) entry.leaks.set_scanned();
    }
    report_.stacks[stack].leaks.edit().definite = {1, lost_bytes};
    report_.leaks.definite += {1, lost_bytes};
    return *this;
  }

  [[nodiscard]] const report::Report& report() const { return report_; }
  report::Report& change() { return report_; }

 private:
  report::Report report_;
};

report::Comparison compared(const std::vector<const Recorded*>& recorded, const CompareOptions& options = {}) {
  std::vector<ComparedReport> reports;
  for (const Recorded* each : recorded) reports.push_back({&each->report(), {}});
  return compare(reports, options);
}

// "grown moved 16->24 at f:12", by the innermost frame, in the comparison's order.
std::vector<std::string> lines_of(const report::Comparison& comparison) {
  std::vector<std::string> lines;
  for (const report::ComparedStack& stack : comparison.stacks) {
    std::string line(name_of(stack.state));
    if (stack.moved) line += " moved";
    for (const report::StackSide& side : stack.sides) {
      const auto live = side.figures[Figure::kLiveBytes];
      line += (&side == stack.sides.data() ? " " : "->") + (live ? std::to_string(*live) : "?");
    }
    const report::FrameList frames = comparison.list(stack.frames);
    if (!frames.empty()) line += fmt::format(" {}:{}", frames.front().function, frames.front().line);
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;
constexpr CompareOptions kAll{.unchanged = true};

TEST(Compare, TheSameBinaryIsComparedByOffsets) {
  const auto before = Recorded("a").stack(16, {unnamed(0x10), unnamed(0x90)}).stack(8, {unnamed(0x20), unnamed(0x90)});
  const auto after = Recorded("a").stack(20, {unnamed(0x10), unnamed(0x90)}).stack(4, {unnamed(0x30), unnamed(0x90)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"gone 8->0 :0", "grown 16->20 :0", "new 0->4 :0"}));
}

TEST(Compare, ReportsNeedNotBeKeptUntilTheNextOneIsRead) {
  const auto before = Recorded("a").stack(16, {unnamed(0x10), unnamed(0x90)}).stack(8, {unnamed(0x20), unnamed(0x90)});
  const auto after = Recorded("a").stack(20, {unnamed(0x10), unnamed(0x90)}).stack(4, {unnamed(0x30), unnamed(0x90)});
  Comparer comparer({});
  for (const Recorded* each : {&before, &after, &before}) {
    report::Report read = each->report();
    comparer.add(std::move(read), {});
    EXPECT_TRUE(read.stacks.empty());  // NOLINT(bugprone-use-after-move): it is given up
  }
  EXPECT_EQ(lines_of(std::move(comparer).finish()), lines_of(compared({&before, &after, &before})));
}

TEST(Compare, TheSameBinaryWithoutItsSymbolsIsTheSame) {
  model::Frame outer = at("f", 10);
  model::Frame inner = inlined("g", 5);
  inner.offset = outer.offset;
  const auto before = Recorded("a").stack(16, {inner, outer, at("main", 20)});
  const auto after = Recorded("a").stack(32, {unnamed(outer.offset), unnamed(at("main", 20).offset)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"grown 16->32 :0"}));
}

TEST(Compare, AnotherLineOfTheSameBinaryIsAnotherStack) {
  const auto before = Recorded("a").stack(16, {at("f", 10), at("main", 20)});
  const auto after = Recorded("a").stack(16, {at("f", 10), at("main", 30)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"new 0->16 f:10", "gone 16->0 f:10"}));
}

TEST(Compare, OffsetsOfAnotherBuildMeanNothing) {
  const auto before = Recorded("a").stack(16, {unnamed(0x10)});
  const auto after = Recorded("b").stack(16, {unnamed(0x10)});
  const auto comparison = compared({&before, &after});
  EXPECT_EQ(lines_of(comparison), (Lines{"new 0->16 :0", "gone 16->0 :0"}));
  EXPECT_EQ(comparison.unmatched_modules, Lines{"app"});
}

TEST(Compare, WithoutBuildIdsOffsetsAreAllThereIs) {
  const auto before = Recorded("").stack(16, {unnamed(0x10)});
  const auto after = Recorded("").stack(24, {unnamed(0x10)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"grown 16->24 :0"}));
}

TEST(Compare, AMovedLineIsOneStack) {
  const auto before = Recorded("a").stack(16, {at("f", 10), at("main", 20)});
  const auto after = Recorded("b").stack(24, {at("f", 13), at("main", 25)});
  const auto comparison = compared({&before, &after});
  EXPECT_EQ(lines_of(comparison), (Lines{"grown moved 16->24 f:13"}));
  EXPECT_EQ(comparison.list(comparison.stacks[0].frames_before).front().line, 10u);
}

// By their lines alone, 11 would be 11.
TEST(Compare, NeighboursThatMovedByOneLineKeepTheirFigures) {
  const auto before = Recorded("a").stack(100, {at("f", 10)}).stack(200, {at("f", 11)});
  const auto after = Recorded("b").stack(110, {at("f", 11)}).stack(220, {at("f", 12)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"grown moved 200->220 f:12", "grown moved 100->110 f:11"}));
}

TEST(Compare, ANewCallAboveIsNewAndTheOldOneMoved) {
  const auto before = Recorded("a").stack(800, {at("f", 10), at("main", 20)}, "malloc", 100);
  const auto after = Recorded("b")
                         .stack(64, {at("f", 10), at("main", 21)}, "malloc", 1)
                         .stack(800, {at("f", 11), at("main", 21)}, "malloc", 100);
  EXPECT_EQ(lines_of(compared({&before, &after}, kAll)), (Lines{"new 0->64 f:10", "same moved 800->800 f:11"}));
}

TEST(Compare, CallersThatDifferStayApart) {
  const auto before = Recorded("a").stack(16, {at("f", 10), at("main", 20)}).stack(32, {at("f", 10), at("main", 30)});
  const auto after = Recorded("b").stack(17, {at("f", 12), at("main", 22)}).stack(33, {at("f", 12), at("main", 32)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"grown moved 16->17 f:12", "grown moved 32->33 f:12"}));
}

TEST(Compare, ACallThatMovedToAnotherCallerIsGoneAndNew) {
  const auto before = Recorded("a").stack(16, {at("f", 10), at("main", 20)}).stack(1, {at("f", 10), at("g", 30)});
  const auto after = Recorded("b").stack(1, {at("f", 10), at("g", 30)}).stack(8, {at("f", 10), at("h", 40)});
  EXPECT_EQ(lines_of(compared({&before, &after}, kAll)), (Lines{"gone 16->0 f:10", "new 0->8 f:10", "same 1->1 f:10"}));
}

TEST(Compare, AnInlinedFunctionIsTheOneThatWasCalled) {
  const auto before = Recorded("a").stack(16, {at("make", 5), at("f", 10), at("main", 20)});
  const auto after = Recorded("b").stack(24, {inlined("make", 5), at("f", 10), at("main", 20)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"grown 16->24 make:5"}));
}

TEST(Compare, NamesOfClonesAreThoseOfTheirFunctions) {
  const auto before = Recorded("a").stack(16, {at("make(int)", 5), at("main", 20)});
  const auto after = Recorded("b").stack(24, {at("make(int) [clone .isra.0]", 5), at("main", 20)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"grown 16->24 make(int) [clone .isra.0]:5"}));
}

TEST(Compare, AFunctionBetweenIsFoundByTheLongestCommonPath) {
  const auto before = Recorded("a")
                          .stack(16, {at("make", 5), at("f", 10), at("run", 15), at("main", 20)})
                          .stack(160, {at("make", 5), at("g", 40), at("serve", 45), at("main", 21)});
  const auto after = Recorded("b")
                         .stack(170, {at("make", 5), at("wrap", 7), at("g", 40), at("serve", 45), at("main", 21)})
                         .stack(17, {at("make", 5), at("wrap", 7), at("f", 10), at("run", 15), at("main", 20)});
  const auto comparison = compared({&before, &after});
  EXPECT_EQ(lines_of(comparison), (Lines{"grown moved 160->170 make:5", "grown moved 16->17 make:5"}));
  EXPECT_EQ(comparison.stacks[0].frames_before.size, 4u);
}

TEST(Compare, AnotherFunctionInItsPlaceIsAnotherStack) {
  const auto before = Recorded("a").stack(16, {at("f", 10), at("main", 20)});
  const auto after = Recorded("b").stack(16, {at("g", 10), at("main", 20)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"new 0->16 g:10", "gone 16->0 f:10"}));
}

TEST(Compare, WithoutLinesTheInlinedFunctionIsLeftOut) {
  const auto plain = [](const std::string& function, uint32_t place) { return at(function, place, ""); };
  const auto before = Recorded("a").stack(16, {plain("make", 5), plain("f", 10), plain("main", 20)});
  const auto after = Recorded("b").stack(24, {plain("f", 11), plain("main", 22)});
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"grown moved 16->24 f:11"}));
}

TEST(Compare, AnotherFunctionThatAllocatesIsAnotherStack) {
  const auto before = Recorded("a").stack(16, {at("f", 10)}, "malloc");
  const auto after = Recorded("b").stack(16, {at("f", 10)}, "calloc");
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"new 0->16 f:10", "gone 16->0 f:10"}));
}

TEST(Compare, SeveralStacksOfOneLineAreOneInAnotherBuild) {
  model::Frame copy = at("f", 10);
  copy.offset += 0x100;
  const auto before = Recorded("a").stack(16, {at("f", 10)});
  const auto after = Recorded("b").stack(10, {at("f", 10)}).stack(11, {copy});
  const auto comparison = compared({&before, &after});
  EXPECT_EQ(lines_of(comparison), (Lines{"grown 16->21 f:10"}));
  EXPECT_EQ(comparison.stacks[0].sides[1].ids, (report::StackIds{1, 2}));
}

TEST(Compare, AChangedLibraryKeepsTheProgramsStacksApart) {
  auto before =
      Recorded("a").stack(16, {unnamed(0x5, kLibrary), at("f", 10)}).stack(32, {unnamed(0x5, kLibrary), at("g", 10)});
  auto after = Recorded("a").stack(17, {unnamed(0x7, kLibrary), at("f", 10)});
  after.change().modules[1].build_id = "libc2";
  EXPECT_EQ(lines_of(compared({&before, &after})), (Lines{"gone 32->0 :0", "new 0->17 :0", "gone 16->0 :0"}));
  EXPECT_EQ(compared({&before, &after}).unmatched_modules, Lines{"libc.so.6"});
}

TEST(Compare, WhatOneScanLacksIsNotKnown) {
  const auto before = Recorded("a").stack(16, {at("f", 10)});
  const auto after = Recorded("a").stack(16, {at("f", 10)}).stack(8, {at("g", 11)}).scanned(1, 8);
  const auto comparison = compared({&before, &after}, kAll);
  EXPECT_FALSE(comparison.change(Figure::kLeakedBytes));
  for (const report::ComparedStack& stack : comparison.stacks) EXPECT_FALSE(stack.change(Figure::kLeakedBytes));
  EXPECT_EQ(comparison.stacks[0].sides[1].figures[Figure::kLeakedBytes], 8u);
  const auto by_leaks = compared({&before, &after}, {.sort = Figure::kLeakedBytes, .unchanged = true});
  EXPECT_EQ(lines_of(by_leaks), (Lines{"new 0->8 g:11", "unknown 16->16 f:10"}));
}

TEST(Compare, ANewLeakIsOneThatWasNotThere) {
  const auto before = Recorded("a").stack(16, {at("f", 10)}).scanned(0, 4);
  const auto after = Recorded("a").stack(16, {at("f", 10)}).stack(8, {at("g", 11)}).scanned(1, 8);
  const auto comparison = compared({&before, &after}, {.sort = Figure::kLeakedBytes});
  EXPECT_EQ(comparison.change(Figure::kLeakedBytes), 4);
  EXPECT_EQ(lines_of(comparison), (Lines{"new 0->8 g:11", "shrunk 16->16 f:10"}));
  EXPECT_EQ(comparison.stacks[0].change(Figure::kLeakedBytes), 8);
}

TEST(Compare, WhatChangedLittleIsCountedAndNotListed) {
  const auto before = Recorded("a").stack(1000, {at("f", 10)}).stack(100, {at("g", 11)}).stack(5, {at("h", 12)});
  const auto after = Recorded("a").stack(2000, {at("f", 10)}).stack(104, {at("g", 11)}).stack(5, {at("h", 12)});
  const auto by_bytes = compared({&before, &after}, {.min_bytes = 5});
  EXPECT_EQ(lines_of(by_bytes), (Lines{"grown 1000->2000 f:10"}));
  EXPECT_EQ(by_bytes.below_floor, 1u);
  EXPECT_EQ(by_bytes.unchanged, 1u);
  EXPECT_EQ(by_bytes.stack_count, 3u);
  EXPECT_EQ(compared({&before, &after}, {.min_percent = 1}).below_floor, 1u);
  EXPECT_EQ(compared({&before, &after}, {.min_percent = 0.1}).below_floor, 0u);
}

// Sums over stacks are those of the recordings, however they were matched.
TEST(Compare, NothingIsLostOrCountedTwice) {
  const auto before = Recorded("a")
                          .stack(100, {at("f", 10)})
                          .stack(30, {at("g", 11)})
                          .stack(7, {unnamed(1)})
                          .stack(4, {at("x", 1), at("f", 9)});
  const auto after =
      Recorded("b").stack(90, {at("f", 12)}).stack(30, {at("h", 11)}).stack(8, {unnamed(1)}).stack(4, {at("f", 10)});
  const auto comparison = compared({&before, &after}, kAll);
  for (const size_t side : {0u, 1u}) {
    uint64_t sum = 0;
    size_t ids = 0;
    for (const report::ComparedStack& stack : comparison.stacks) {
      sum += stack.sides[side].figures[Figure::kLiveBytes].value();
      ids += stack.sides[side].ids.size();
    }
    EXPECT_EQ(sum, comparison.recordings[side].totals[Figure::kLiveBytes]);
    EXPECT_EQ(ids, 4u);
  }
}

TEST(Compare, ASeriesShowsWhatGrowsFromEachToTheNext) {
  const auto first = Recorded("a").stack(10, {at("f", 10)}).stack(50, {at("g", 20)});
  const auto second = Recorded("b").stack(20, {at("f", 11)}).stack(40, {at("g", 21)}).stack(5, {at("h", 40)});
  const auto third = Recorded("c").stack(30, {at("f", 12)}).stack(90, {at("g", 22)});
  const auto comparison = compared({&first, &second, &third});
  EXPECT_EQ(lines_of(comparison),
            (Lines{"grown moved 50->40->90 g:22", "grown moved 10->20->30 f:12", "same 0->5->0 h:40"}));
  EXPECT_FALSE(comparison.stacks[0].growing);
  EXPECT_TRUE(comparison.stacks[1].growing);
}

TEST(Compare, MomentsOfOneTraceAreMatchedByNumber) {
  const auto before = Recorded("").stack(16, {unnamed(0, "")}).stack(8, {unnamed(0, "")});
  const auto after = Recorded("").stack(20, {unnamed(0, "")}).stack(4, {unnamed(0, "")});
  const auto comparison = compare({{&before.report(), 1}, {&after.report(), 2}}, {.same_trace = true});
  EXPECT_EQ(lines_of(comparison), (Lines{"grown 16->20 :0", "shrunk 8->4 :0"}));
  EXPECT_FALSE(comparison.recordings[1].totals[Figure::kLeakedBytes]);
}

TEST(Compare, JsonHasBothSidesAndFramesOfOneTable) {
  const auto before = Recorded("a").stack(16, {at("f", 10), at("main", 20)});
  const auto after = Recorded("b").stack(24, {at("f", 13), at("main", 25)}).stack(4096, {}, "mmap");
  const auto written = [&](json::Version version) {
    std::string text;
    json::write_comparison_json(compared({&before, &after}), version, [&](std::string_view piece) { text += piece; });
    return nlohmann::json::parse(text);
  };
  const auto json = written(json::Version::kNodes);
  EXPECT_EQ(json["format"], "heaptap-diff");
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["totals"]["change"]["live_bytes"], 8);
  EXPECT_EQ(json["totals"]["after"]["leaked_bytes"], nullptr);
  const auto& stack = json["stacks"][1];
  EXPECT_EQ(stack["state"], "grown");
  EXPECT_EQ(stack["moved"], true);
  EXPECT_EQ(stack["before"]["ids"], nlohmann::json({1}));
  EXPECT_EQ(stack["change"]["live_bytes"], 8);
  const auto line_of = [&](const nlohmann::json& node) {
    return json["frames"][json["nodes"]["frame"][node.get<size_t>()].get<size_t>()]["line"];
  };
  EXPECT_EQ(line_of(stack["node"]), 13);
  EXPECT_EQ(line_of(stack["node_before"]), 10);
  EXPECT_EQ(json["stacks"][0]["mapping"], true);
  const auto lists = written(json::Version::kLists);
  EXPECT_EQ(lists["version"], 1);
  const auto& listed = lists["stacks"][1];
  EXPECT_EQ(lists["frames"][listed["frames"][0].get<size_t>()]["line"], 13);
  EXPECT_EQ(lists["frames"][listed["frames_before"][0].get<size_t>()]["line"], 10);
}

// Both sites fill a vector<int>: its functions, main() and the startup code aren't what makes stacks alike.
TEST(Compare, CommonLibraryAndStartupFramesDontMakeStacksAlike) {
  const auto grown = [](const std::string& function, uint32_t line) {
    return std::vector<model::Frame>{at("std::__new_allocator<int>::allocate(unsigned long, void const*)", 137),
                                     at("std::vector<int, std::allocator<int> >::_M_realloc_insert(int&&)", 450),
                                     at("std::vector<int, std::allocator<int> >::push_back(int&&)", 1294),
                                     at(function, line),
                                     at("main", 90),
                                     at("_start", 1)};
  };
  const auto before = Recorded("a").stack(500, grown("shop::legacy_index()", 40));
  const auto after = Recorded("b").stack(2048, grown("shop::serve(int)", 61));
  EXPECT_EQ(lines_of(compared({&before, &after})),
            (Lines{"new 0->2048 std::__new_allocator<int>::allocate(unsigned long, void const*):137",
                   "gone 500->0 std::__new_allocator<int>::allocate(unsigned long, void const*):137"}));
}

TEST(Compare, TextFitsIntoEightyColumnsAndSaysWhatIsDoubtful) {
  const std::string long_name =
      "ns::a_function_with_a_long_name<std::vector<std::map<int, long>>>::operator()(int, char const*, double) const";
  auto before = Recorded("a").stack(16, {at(long_name, 10), at("main", 20)});
  before.change().trace_path = "/a/rather/long/directory/for/traces/with/many/parts/of/the/path/before.htap";
  before.change().capture.lost_events = 3;
  before.change().capture.truncated = true;
  before.change().capture.damage = "it ends within a frame at byte 1234 of 5678";
  const auto after =
      Recorded("b").stack(2'000'000, {at(long_name, 13), at("evil\x1b[31m", 25)}).stack(3, {unnamed(0x10)});
  const std::string text = text::render_comparison(compared({&before, &after}), {});
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("! before: 3 events were lost"), std::string::npos) << text;
  EXPECT_NE(text.find("! before: the trace is cut off"), std::string::npos) << text;
  EXPECT_NE(text.find("leaked"), std::string::npos) << text;
}

// As recorded: library frames within, those below main() at the end.
std::vector<model::Frame> called(std::vector<model::Frame> own) {
  for (const char* name : {"std::vector<int, std::allocator<int> >::_M_realloc_insert(int&&)", "operator new"}) {
    own.insert(own.begin(), at(name, 70, "/usr/include/c++/12/bits/vector.tcc"));
  }
  own.push_back(at("main", 90));
  own.push_back(at("__libc_start_call_main", 0, ""));
  own.push_back(at("_start", 0, ""));
  return own;
}

// Two builds of a shop: what grew, came, went, only churned, and stayed.
Recorded shop(const std::string& build, const char* path, bool is_old) {
  Recorded recorded(build);
  const uint64_t parts = is_old ? 1 : 3;
  const uint32_t moved = is_old ? 0 : 5;
  recorded.stack(1000 * parts, called({at("shop::Cart::add(int)", 10 + moved)}));
  recorded.stack(100 * parts, called({at("shop::Cart::add(int)", 10 + moved), at("shop::Cart::add(int)", 12 + moved)}));
  recorded.stack(0, called({at("shop::render(Page const&)", 20 + moved)}), "malloc", 10 * parts);
  recorded.stack(64, called({at("shop::open()", 30 + moved)}));
  if (is_old) {
    recorded.stack(500, called({at("shop::legacy_index()", 40)}));
    recorded.stack(8192, called({at("shop::reserve()", 50)}), "mmap");
  } else {
    recorded.stack(2048, called({at("shop::Session::Session(int)", 45), at("shop::serve(int)", 61)}));
    recorded.stack(65536, called({at("shop::reserve()", 55)}), "mmap");
  }
  recorded.change().trace_path = path;
  recorded.change().capture.executable = "/bin/shop";
  return recorded;
}

TEST(CompareText, EachSiteThatChangedHasALine) {
  const Recorded before = shop("a", "before.htap", true);
  const Recorded after = shop("b", "after.htap", false);
  const report::Comparison comparison = compared({&before, &after});
  const std::string text = text::render_comparison(comparison, {});
  test::expect_golden("diff.txt", text);
  for (const char* hidden : {"_start", "__libc_start_call_main", "_M_realloc_insert", "operator new", "render"}) {
    EXPECT_EQ(text.find(hidden), std::string::npos) << hidden;
  }
  EXPECT_NE(text.find("Stacks by change of live: 1 new, 1 gone, 3 grown, 2 unchanged\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(2 stacks: #1 #2)"), std::string::npos) << text;
}

TEST(CompareText, WholeStacksHaveAllFramesAndFigures) {
  const Recorded before = shop("a", "before.htap", true);
  const Recorded after = shop("b", "after.htap", false);
  const std::string text =
      text::render_comparison(compared({&before, &after}), {.limit = 2, .frames = {.full_stacks = true}});
  test::expect_golden("diff_full_stacks.txt", text);
  EXPECT_NE(text.find("_start"), std::string::npos) << text;
  EXPECT_NE(text.find("(3 stacks more: -n N shows more; "), std::string::npos) << text;
}

TEST(CompareText, ASeriesHasAColumnForEachRecording) {
  const Recorded first = shop("a", "mon.htap", true);
  const Recorded second = shop("b", "tue.htap", false);
  auto third = shop("b", "wed.htap", false);
  third.stack(4096, called({at("shop::Cart::add(int)", 15)}), "malloc");
  const report::Comparison comparison = compared({&first, &second, &third});
  test::expect_golden("diff_series.txt", text::render_comparison(comparison, {.limit = 3, .width = 120}));
}

TEST(CompareText, UnchangedStacksAreListedIfWanted) {
  const Recorded before = shop("a", "before.htap", true);
  const Recorded after = shop("b", "after.htap", false);
  const std::string text = text::render_comparison(compared({&before, &after}, kAll), {.unchanged = true});
  EXPECT_NE(text.find("3 grown, 2 unchanged\n"), std::string::npos) << text;
  EXPECT_NE(text.find("shop::open app.cc:35"), std::string::npos) << text;
  EXPECT_EQ(text.find("--unchanged"), std::string::npos) << text;
}

// A program with its own stack and two that libraries keep memory in.
Recorded with_libraries(uint64_t own_bytes, uint64_t pool_bytes, uint64_t mapped_bytes) {
  auto recorded = Recorded("a").stack(own_bytes, {at("f", 10)});
  recorded.stack(pool_bytes, {unnamed(0x100, "/lib/libstdc++.so.6")}).stack(mapped_bytes, {unnamed(0x200)}, "mmap");
  recorded.change().stacks[1].purpose = report::Purpose::kEmergencyPool;
  recorded.change().stacks[2].purpose = report::Purpose::kLoader;
  return recorded;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(CompareText, MemoryOfSystemLibrariesIsOneLine) {
  const auto before = with_libraries(10, 1000, 4096);
  const auto after = with_libraries(20, 4072, 8192);
  const report::Comparison comparison = compared({&before, &after});
  const std::string text = text::render_comparison(comparison, {});
  EXPECT_TRUE(has(text,
                  "\n(+3.0 KiB live (besides +4.0 KiB with mmap) in 2 stacks of system libraries: "
                  "libstdc++'s emergency pool for exceptions, "))
      << text;
  EXPECT_TRUE(has(text, "; --unchanged lists all)\n")) << text;
  EXPECT_TRUE(has(text, "f app.cc:10\n")) << text;
  EXPECT_FALSE(has(text, "#2")) << text;
  const std::string all = text::render_comparison(compared({&before, &after}, kAll), {.unchanged = true});
  EXPECT_TRUE(has(all, "#2  libstdc++'s emergency pool for exceptions\n")) << all;
  EXPECT_FALSE(has(all, "of system libraries")) << all;
}

TEST(CompareText, WhereAFilterAsksForThemSystemLibrariesHaveLinesOfTheirOwn) {
  auto before = with_libraries(10, 1000, 4096);
  const auto after = with_libraries(20, 4072, 4096);
  before.change().filter = "--module libstdc++";
  const std::string text = text::render_comparison(compared({&before, &after}), {});
  EXPECT_TRUE(has(text, "#2  libstdc++'s emergency pool for exceptions\n")) << text;
}

TEST(CompareText, WhereOnlySystemLibrariesChangedThatIsSaid) {
  const auto before = with_libraries(10, 1000, 4096);
  const auto after = with_libraries(10, 4072, 4096);
  const std::string text = text::render_comparison(compared({&before, &after}), {});
  EXPECT_TRUE(has(text, "  no stack of the program changed\n")) << text;
  EXPECT_TRUE(has(text, "\n(+3.0 KiB live in 1 stack of system libraries: ")) << text;
}

TEST(CompareFindings, MemoryOfSystemLibrariesIsOneSentence) {
  const auto before = with_libraries(10, 1000, 4096);
  const auto after = with_libraries(20, 4072, 4096);
  std::vector<std::string> changes;
  for (const findings::Finding& finding : findings::findings_of(compared({&before, &after})))
    if (finding.kind == findings::FindingKind::kChange) changes.push_back(finding.text);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_TRUE(has(changes[0], "+10 B live, grown, allocated in f")) << changes[0];
  EXPECT_EQ(changes[1], "+3.0 KiB live in 1 stack of system libraries: libstdc++'s emergency pool for exceptions.");
}

TEST(CompareText, OppositeChangesAtOneSiteStayApart) {
  const auto before = Recorded("a").stack(10, {at("f", 10), at("f", 11)}).stack(90, {at("f", 10), at("f", 12)});
  const auto after = Recorded("a").stack(70, {at("f", 10), at("f", 11)}).stack(20, {at("f", 10), at("f", 12)});
  const std::string text = text::render_comparison(compared({&before, &after}), {});
  EXPECT_NE(text.find("1 grown, 1 shrunk\n"), std::string::npos) << text;
  EXPECT_NE(text.find("-70 B    90 B   20 B  #2  f app.cc:10\n"), std::string::npos) << text;
  EXPECT_NE(text.find("+60 B    10 B   70 B  #1  f app.cc:10\n"), std::string::npos) << text;
}

TEST(CompareText, SkippedFunctionsAreNoSites) {
  auto before = Recorded("a").stack(10, {at("grow", 10), at("f", 12)});
  auto after = Recorded("a").stack(20, {at("grow", 10), at("f", 12)});
  after.change().skipped = report::SkippedNames({"grow"});
  const std::string text = text::render_comparison(compared({&before, &after}), {});
  EXPECT_NE(text.find("#1  f app.cc:12\n"), std::string::npos) << text;
}

// Builds in two directories have the same files.
TEST(CompareText, FilesOfTwoBuildsAreNamedWithoutTheirDirectories) {
  const auto before = Recorded("a").stack(10, {at("f", 10, "/old/app.cc")});
  const auto after = Recorded("b").stack(20, {at("g", 20, "/new/app.cc")});
  const std::string text = text::render_comparison(compared({&before, &after}), {});
  EXPECT_NE(text.find("gone  #1  f app.cc:10\n"), std::string::npos) << text;
  EXPECT_NE(text.find("20 B  #1  g app.cc:20\n"), std::string::npos) << text;
}

std::vector<size_t> partners(const std::vector<CallPlace>& before, const std::vector<CallPlace>& after) {
  constexpr size_t kNone = 99;
  std::vector<size_t> found;
  for (const auto& partner : map_lines(before, after)) found.push_back(partner.value_or(kNone));
  return found;
}

TEST(LineMap, LinesKeepTheirOrder) {
  using P = std::vector<size_t>;
  EXPECT_EQ(partners({{10}, {20}}, {{10}, {20}}), (P{0, 1}));
  EXPECT_EQ(partners({{10}, {20}}, {{20}, {30}}), (P{0, 1}));
  EXPECT_EQ(partners({{10}, {20}}, {{10}, {15}, {20}}), (P{0, 2}));
  EXPECT_EQ(partners({{10}, {20}}, {{12}, {15}, {22}}), (P{0, 2}));
  EXPECT_EQ(partners({{10}, {11}, {30}}, {{12}, {31}}), (P{99, 0, 1}));
  EXPECT_EQ(partners({{10}}, {{12}, {50}}), (P{0}));
  EXPECT_EQ(partners({{10, 5, 80}}, {{10, 1, 8}, {50, 5, 80}}), (P{1}));
  EXPECT_EQ(partners({}, {{12}, {50}}), (P{}));
  EXPECT_EQ(partners({{10}}, {}), (P{99}));
}

}  // namespace
}  // namespace heaptap::query
