#include "views/html/html_report.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "golden.h"
#include "views/html/difference.h"
#include "views/html/document.h"
#include "views/html/folding.h"
#include "views/html/packed_text.h"
#include "views/html/shell.h"

namespace heaptap::html {
namespace {

using report::Report;
using report::StackEntry;
using test::frame;

constexpr const char* kHostile = "</script><script>alert(1)</script>\x1b[31m\xff\"'&{{data}}{{title}}";

// `count` stacks below main, each with a function of its own and as many bytes as its number.
Report with_stacks(uint32_t count) {
  Report report;
  report.capture.command = {"./app"};
  report.capture.ended = true;
  report.frames = {frame("main", "/src/app.cc", 1)};
  report.activity.emplace();
  report.activity->width_ns = 1000;
  report.activity->bin_count = 4;
  for (uint32_t i = 0; i < count; ++i) {
    report.frames.push_back(frame("function_" + std::to_string(i), "/src/app.cc", 10 + i));
    StackEntry& stack = report.stacks.emplace_back();
    stack.id = i + 1;
    stack.function = "malloc";
    stack.allocations = 1;
    stack.allocated_bytes = stack.live_bytes = i + 1;
    stack.live_blocks = 1;
    stack.frames = report.frames.add({i + 1, 0});
    report.activity->cells.push_back({.stack = i,
                                      .thread = 1,
                                      .bin = i % 4,
                                      .size_class = 3,
                                      .allocations = 1,
                                      .allocated_bytes = i + 1,
                                      .releases = 0,
                                      .released_bytes = 0,
                                      .temporary = 0});
    report.activity->left.push_back({.stack = i,
                                     .thread = 1,
                                     .bin = i % 4,
                                     .size_class = 3,
                                     .state = report::LeftState::kNoScan,
                                     .blocks = 1,
                                     .bytes = i + 1});
  }
  return report;
}

nlohmann::json document_of(const Report& report, DocumentOptions options = {.title = "app"}) {
  const std::vector<findings::Finding> found =
      options.comparison != nullptr ? findings::findings_of(*options.comparison) : findings::findings_of(report);
  options.findings = found;
  std::string text;
  write_document(report, options, [&text](std::string_view piece) { text += piece; });
  return nlohmann::json::parse(text);
}

uint64_t sum(const nlohmann::json& column) {
  return std::accumulate(column.begin(), column.end(), uint64_t{0},
                         [](uint64_t all, const nlohmann::json& each) { return all + each.get<uint64_t>(); });
}

std::string unpacked(const std::string& base64) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : base64) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(digit));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  std::string text(size_t{1} << 26, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(PackedText, IsWhatWasWritten) {
  std::string text;
  PackedText packed;
  for (int i = 0; i < 30'000; ++i) {
    const std::string piece = std::to_string(i * 7919) + (i % 3 == 0 ? "\xff" : ",");
    text += piece;
    packed.write(piece);
  }
  EXPECT_EQ(unpacked(packed.finish()), text);
  PackedText nothing;
  EXPECT_EQ(unpacked(nothing.finish()), "");
}

TEST(Document, HasAStackARowAndItsFramesAsATree) {
  const auto document = document_of(with_stacks(3));
  EXPECT_EQ(document["format"], "heaptap-report");
  EXPECT_EQ(document["stacks"]["id"], (nlohmann::json{1, 2, 3}));
  EXPECT_EQ(document["nodes"]["parent"], (nlohmann::json{-1, 0, 0, 0}));
  EXPECT_EQ(document["nodes"]["frame"], (nlohmann::json{0, 1, 2, 3}));
  EXPECT_EQ(document["stacks"]["node"], (nlohmann::json{1, 2, 3}));
  EXPECT_TRUE(document["folded"].is_null());
}

TEST(Document, SaysWhatItIsAbout) {
  Report report = with_stacks(1);
  report.totals.allocations = report.totals.allocated_bytes = report.totals.peak_live_bytes = 4000;
  EXPECT_EQ(document_of(report)["focus"], "peak");
  report.totals.live_bytes = 3000;
  EXPECT_EQ(document_of(report)["focus"], "live");
  report.totals.temporary_allocations = 4000;
  report.totals.live_bytes = 0;
  report.totals.peak_live_bytes = 100;
  EXPECT_EQ(document_of(report)["focus"], "temporary");
}

TEST(Document, SaysWhichStacksAreMemoryOfSystemLibraries) {
  Report report = with_stacks(100);
  report.stacks[99].purpose = report.stacks[0].purpose = report::Purpose::kEmergencyPool;
  EXPECT_EQ(sum(document_of(report)["stacks"]["of_libraries"]), 2U);
  const auto folded = document_of(report, {.title = "app", .max_stacks = 10})["stacks"];
  EXPECT_EQ(folded["of_libraries"][9], 1) << "the largest one";
  EXPECT_EQ(sum(folded["of_libraries"]), 1U) << "of those in one row others are the program's";
}

TEST(Document, SaysWhatTheProgramCallsAStack) {
  Report report = with_stacks(3);
  report.stacks[0].variant = "sized";
  report.stacks[0].rare.edit().tags = {"request", "parse"};
  report.stacks[1].pooled = true;
  report.stacks[1].rare.edit().pool = "arena";
  const auto document = document_of(report);
  const auto text = [&](const char* column, size_t row) {
    return document["strings"][document["stacks"][column][row].get<size_t>()];
  };
  EXPECT_EQ(text("label", 0), "tag: request/parse");
  EXPECT_EQ(text("variant", 0), "sized");
  EXPECT_EQ(text("label", 1), "pool: arena");
  EXPECT_EQ(document["stacks"]["pooled"], (nlohmann::json{0, 1, 0}));
  EXPECT_EQ(document["stacks"]["label"][2], 0);
}

TEST(Document, SaysWhatIsNotKnownAsNull) {
  Report report = with_stacks(1);
  report.stacks[0].set_live_unknown();
  report.stacks[0].set_times_unknown();
  const auto stacks = document_of(report)["stacks"];
  for (const char* name : {"frees", "live_blocks", "live_bytes", "peak_bytes", "lifetime_ns", "definite_bytes"}) {
    EXPECT_TRUE(stacks[name][0].is_null()) << name;
  }
  EXPECT_EQ(stacks["allocations"][0], 1);
}

TEST(Document, KeepsAllSumsWhereStacksAreFolded) {
  const Report report = with_stacks(1000);
  const auto whole = document_of(report);
  const auto folded = document_of(report, {.title = "app", .max_stacks = 10});
  EXPECT_EQ(folded["stacks"]["id"].size(), 11U) << "the others have main in common";
  EXPECT_EQ(folded["folded"]["stacks"], 990);
  EXPECT_EQ(sum(folded["stacks"]["folded"]), 990U);
  EXPECT_EQ(folded["stacks"]["live_bytes"][0], 991) << "the largest stay";
  for (const char* column : {"allocations", "allocated_bytes", "live_blocks", "live_bytes"}) {
    EXPECT_EQ(sum(folded["stacks"][column]), sum(whole["stacks"][column])) << column;
  }
  EXPECT_EQ(sum(folded["cells"]["allocated_bytes"]), sum(whole["cells"]["allocated_bytes"]));
  EXPECT_EQ(sum(folded["left"]["bytes"]), sum(whole["left"]["bytes"]));
  EXPECT_LT(folded["cells"]["stack"].size(), 20U) << "cells of folded stacks are one";
}

TEST(Document, WhatFoldedStacksKeepResidentIsOneRowWithoutPages) {
  Report report = with_stacks(1000);
  EXPECT_EQ(document_of(report)["resident"], (nlohmann::json{{"unknown", ""}})) << "no scan, as the shell knows";
  report.leaks.scanned = true;
  EXPECT_NE(document_of(report)["resident"]["unknown"], "");
  report.totals.resident_parts = report::ResidentParts{.scan = 2, .at_end = false, .bytes = 8192, .free_bytes = 8192};
  report.fragmentation.emplace();
  for (const uint64_t id : {1000, 7, 8}) {
    report::StackKeep& keep = report.fragmentation->stacks.emplace_back();
    keep.stack_id = id;
    keep.live = {.blocks = 1, .bytes = id};
    keep.pages = 1;
    keep.kept_bytes = 4000 - id;
  }
  const auto resident = document_of(report, {.title = "app", .max_stacks = 10})["resident"];
  EXPECT_EQ(resident["moment"], "scan 2");
  const auto& stacks = resident["stacks"];
  ASSERT_EQ(stacks["stack"].size(), 2U);
  EXPECT_EQ(stacks["kept_bytes"], (nlohmann::json{3000, 7985}));
  EXPECT_EQ(stacks["live_bytes"], (nlohmann::json{1000, 15}));
  EXPECT_EQ(stacks["live_blocks"], (nlohmann::json{1, 2}));
  EXPECT_EQ(stacks["pages"], (nlohmann::json{1, nullptr})) << "both may have blocks on one page";
}

// Two recordings with `count` stacks each; every third one is only in the last one.
report::Comparison with_changes(uint32_t count) {
  report::Comparison comparison;
  comparison.frames = {frame("main", "/src/app.cc", 1)};
  comparison.recordings.resize(2);
  for (const char* trace : {"a.htap", "dir/b.htap"}) {
    report::Recording& recording = comparison.recordings[trace[0] == 'a' ? 0 : 1];
    recording.report.trace_path = trace;
    recording.report.capture.command = {kHostile};
    recording.totals.set(report::Figure::kLiveBytes, trace[0] == 'a' ? 1000 : 3000);
  }
  for (uint32_t i = 0; i < count; ++i) {
    comparison.frames.push_back(frame("function_" + std::to_string(i), "/src/app.cc", 10 + i));
    report::ComparedStack& stack = comparison.stacks.emplace_back();
    stack.function = "malloc";
    stack.frames = comparison.frames.add({i + 1, 0});
    stack.sides.resize(2);
    stack.state = i % 3 == 0 ? report::StackState::kNew : report::StackState::kGrown;
    const bool is_new = stack.state == report::StackState::kNew;
    if (!is_new) stack.sides[0].ids = {i + 1};
    stack.sides[1].ids = {i + 1, i + 5000};
    stack.sides[0].figures.set(report::Figure::kLiveBytes, is_new ? 0 : i);
    stack.sides[1].figures.set(report::Figure::kLiveBytes, 2 * i + 1);
    ++comparison.states[static_cast<size_t>(stack.state)];
  }
  comparison.stack_count = count;
  return comparison;
}

nlohmann::json data_of(const std::string& html) {
  const std::string before = "id=\"heaptap-data\" type=\"application/octet-stream\">";
  const size_t begin = html.find(before) + before.size();
  return nlohmann::json::parse(unpacked(html.substr(begin, html.find('<', begin) - begin)));
}

TEST(Difference, HasTheFiguresOfEachRecordingAndNullWhereNoneIsKnown) {
  report::Comparison comparison = with_changes(4);
  comparison.stacks[1].purpose = report::Purpose::kEmergencyPool;
  const auto document = data_of(make_html(comparison, {.title = "a and b"}));
  EXPECT_EQ(document["stacks"]["of_libraries"], (nlohmann::json{0, 1, 0, 0}));
  const auto& difference = document["difference"];
  EXPECT_EQ(difference["recordings"][1]["name"], "b.htap");
  EXPECT_EQ(difference["recordings"][0]["totals"]["live_bytes"], 1000);
  EXPECT_TRUE(difference["recordings"][0]["totals"]["allocations"].is_null());
  EXPECT_EQ(difference["state"], (nlohmann::json{"new", "grown", "grown", "new"}));
  EXPECT_EQ(difference["values"][0]["live_bytes"], (nlohmann::json{0, 1, 2, 0}));
  EXPECT_EQ(difference["values"][1]["live_bytes"], (nlohmann::json{1, 3, 5, 7}));
  EXPECT_TRUE(difference["values"][1]["leaked_bytes"][0].is_null());
  EXPECT_EQ(difference["ids"][0][0], nlohmann::json::array());
  EXPECT_EQ(difference["ids"][1][1], (nlohmann::json{2, 5001}));
  EXPECT_TRUE(document_of(with_stacks(1))["difference"].is_null());
}

TEST(Difference, KeepsAllSumsWhereStacksAreFoldedAndFoldsOneStateAtATime) {
  const report::Comparison comparison = with_changes(1000);
  const Report report = report_of(comparison);
  const Weights weights = weights_of(comparison);
  const auto folded =
      document_of(report, {.title = "app", .max_stacks = 10, .comparison = &comparison, .weights = &weights});
  EXPECT_EQ(folded["stacks"]["id"].size(), 12U) << "the others have main in common, and are new or grown";
  const auto whole = document_of(report, {.title = "app", .comparison = &comparison, .weights = &weights});
  for (const size_t side : {0, 1}) {
    EXPECT_EQ(sum(folded["difference"]["values"][side]["live_bytes"]),
              sum(whole["difference"]["values"][side]["live_bytes"]));
  }
  uint64_t before_of_new = 0;
  for (size_t row = 0; row < folded["stacks"]["id"].size(); ++row) {
    if (folded["difference"]["state"][row] == "new")
      before_of_new += folded["difference"]["values"][0]["live_bytes"][row].get<uint64_t>();
  }
  EXPECT_EQ(before_of_new, 0U) << "what is new has nothing before";
  EXPECT_EQ(folded["difference"]["values"][1]["live_bytes"][9], 1999) << "the largest changes stay";
}

TEST(Difference, EscapesNamesAndFitsItsSizeWhateverTheTraces) {
  EXPECT_LE(make_html(with_changes(100'000), {.title = "a"}).size(), kMaxFileBytes);
  report::Comparison comparison = with_changes(2);
  comparison.stacks[0].function = kHostile;
  comparison.unmatched_modules = {kHostile, std::string(10'000, 'm')};
  comparison.frames.all()[1].function = std::string(10'000, 'x') + kHostile;
  const std::string html = make_html(comparison, {.title = kHostile});
  EXPECT_EQ(html.find("alert(1)</script>"), html.npos);
  EXPECT_EQ(html.find('\x1b'), html.npos);
  EXPECT_EQ(data_of(html)["difference"]["unmatched_modules"].size(), 2U);
}

// A run of `count` processes that share one stack; the last one lost most.
Report with_processes(uint32_t count) {
  Report report = with_stacks(1);
  report.of_run = true;
  report.activity->bin_count = 1;
  report.activity->cells.clear();
  report.activity->left.clear();
  for (uint32_t i = 0; i < count; ++i) {
    report::ProcessEntry& process = report.processes.emplace_back();
    process.capture.pid = 100 + i;
    process.capture.command = {kHostile + std::to_string(i)};
    process.leaks.scanned = true;
    process.leaks.definite = {1, i};
    process.live_bytes = {1, i, 2};
    report::ThreadEntry& thread = report.threads->emplace_back();
    thread.number = i + 1;
    thread.process = i;
    report::ActivityCell& cell = report.activity->cells.emplace_back();
    cell.thread = i + 1;
    cell.process = i;
    cell.allocations = 1;
    cell.allocated_bytes = i;
  }
  return report;
}

TEST(Run, HasAProcessARowAndItsCells) {
  const auto document = document_of(with_processes(3));
  EXPECT_TRUE(document["of_run"]);
  EXPECT_EQ(document["cells"]["process"], (nlohmann::json{0, 1, 2}));
  EXPECT_EQ(document["threads"]["process"], (nlohmann::json{0, 1, 2}));
  EXPECT_EQ(document["processes"][2]["pid"], 102);
  EXPECT_EQ(document["processes"][2]["course"], (nlohmann::json{1, 2, 2}));
  EXPECT_FALSE(document_of(with_stacks(1))["cells"].contains("process"));
}

TEST(Run, FoldsTheSmallestProcessesIntoOneRow) {
  const auto document = document_of(with_processes(10), {.title = "run", .max_processes = 3});
  EXPECT_EQ(document["processes"].size(), 4U);
  EXPECT_EQ(document["processes"][0]["pid"], 100) << "the main one stays";
  EXPECT_EQ(document["processes"][1]["pid"], 108);
  EXPECT_EQ(document["processes"][3]["folded"], 7);
  EXPECT_TRUE(document["processes"][3]["live_bytes"].is_null());
  EXPECT_EQ(document["folded"]["processes"], 7);
  EXPECT_EQ(sum(document["cells"]["allocated_bytes"]), 45U);
  EXPECT_EQ(*std::max_element(document["cells"]["process"].begin(), document["cells"]["process"].end()), 3);
}

TEST(Run, FitsItsSizeWhateverItsProcesses) {
  Report report = with_processes(30'000);
  for (report::ProcessEntry& process : report.processes) {
    process.trace_path = "/tmp/" + std::to_string(process.capture.pid * 7919);
    process.live_bytes.assign(64, uint64_t{104'729} * process.capture.pid);
  }
  EXPECT_LE(make_html(report, {.title = "run"}).size(), kMaxFileBytes);
}

TEST(Html, IsTheShellWithItsPlacesFilled) {
  const std::string html = make_html(with_stacks(3), {.title = "app"});
  EXPECT_EQ(html.find("{{"), html.npos);
  EXPECT_TRUE(html.starts_with(shell().substr(0, shell().find("{{title}}"))));
  const std::string before = "id=\"heaptap-data\" type=\"application/octet-stream\">";
  const size_t begin = html.find(before) + before.size();
  const auto document = nlohmann::json::parse(unpacked(html.substr(begin, html.find('<', begin) - begin)));
  EXPECT_EQ(document["title"], "app");
}

TEST(Html, EscapesWhatTheTargetNamed) {
  Report report = with_stacks(1);
  report.capture.command = {kHostile};
  model::Frame& hostile = report.frames.all()[1];
  hostile.function = hostile.file = hostile.module = kHostile;
  report.frames.all()[0].function = std::string(10'000, 'x');
  const std::string html = make_html(report, {.title = kHostile});
  EXPECT_EQ(html.find("alert(1)</script>"), html.npos);
  EXPECT_EQ(html.find('\x1b'), html.npos);
  EXPECT_NE(html.find("&lt;/script&gt;"), html.npos);
  const auto document = document_of(report, {.title = kHostile});
  EXPECT_NE(document["strings"].dump().find("alert(1)"), std::string::npos) << "it is kept, as text";
}

TEST(Html, FitsItsSizeWhateverTheTrace) {
  const Report report = with_stacks(150'000);
  const std::string html = make_html(report, {.title = "app"});
  EXPECT_LE(html.size(), kMaxFileBytes);
  EXPECT_GT(make_html(report, {.title = "app", .full = true}).size(), kMaxFileBytes);
}

TEST(Html, FitsItsSizeWhateverTheNames) {
  constexpr size_t kNameBytes = 3000;
  std::mt19937 random(1);
  Report report = with_stacks(3000);
  report.frames = {};
  for (uint32_t i = 0; i < report.stacks.size(); ++i) {
    std::string name;
    for (size_t at = 0; at < kNameBytes; ++at) name += static_cast<char>('0' + random() % 75);
    report.frames.push_back(frame(name, "/src/a.cc", i));
    report.stacks[i].frames = report.frames.add(std::vector{i});
  }
  const std::string html = make_html(report, {.title = "app"});
  EXPECT_LE(html.size(), kMaxFileBytes);
  EXPECT_GT(make_html(report, {.title = "app", .full = true}).size(), report.stacks.size() * kNameBytes * 3 / 4);
  const auto few = document_of(report, {.title = "app", .max_stacks = 100, .max_name_bytes = 5});
  EXPECT_EQ(few["folded"]["names"], 103) << "100 functions, a file, a module and malloc";
  for (const std::string name : few["strings"]) EXPECT_LE(name.size(), 5 + std::string("…").size());
}

}  // namespace
}  // namespace heaptap::html
