// What profilers' formats make of a report whose names hold anything, and of events that are taken back.
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/wire/varint.h"
#include "event_script.h"
#include "memory_source.h"
#include "views/exports/formats.h"

namespace heaptap::exports {
namespace {

using nlohmann::json;

const std::string kHostile = "evil;name\nfn=(1) \"quoted\" <b>&amp;\x1b[31m \xff\xfe \xe2\x80\xae#{}";

model::Frame frame(std::string function, std::string file, uint32_t line, uint64_t address) {
  return {.function = std::move(function),
          .symbol = "",
          .module = "/opt/" + kHostile,
          .offset = address,
          .address = address,
          .file = std::move(file),
          .line = line};
}

report::StackEntry stack(report::FrameTable& table, uint64_t id, std::string function,
                         const std::vector<report::FrameIndex>& frames) {
  report::StackEntry entry;
  entry.id = id;
  entry.function = std::move(function);
  entry.frames = table.add(frames);
  entry.allocations = 10 * id;
  entry.allocated_bytes = 1000 * id;
  entry.live_blocks = id;
  entry.live_bytes = 100 * id;
  entry.peak_bytes = 200 * id;
  entry.temporary_allocations = id;
  return entry;
}

report::Report hostile_report() {
  report::Report report;
  report.capture.command = {"./evil", kHostile, std::string(10'000, 'c')};
  report.capture.duration_ns = 5'000'000;
  report.frames = {frame(kHostile, kHostile, 3, 0x10), frame(std::string(10'000, 'x') + kHostile, "a.c", 4, 0x20),
                   frame("", "", 0, 0x30), frame("main", "m.c", 5, 0x40)};
  report.frames.all()[0].inlined = true;
  report.stacks = {stack(report.frames, 1, "malloc", {0, 1, 3}),
                   stack(report.frames, 2, "operator new[]", {2, 1, 2, 3}), stack(report.frames, 3, "malloc", {})};
  report.stacks.push_back(stack(report.frames, 4, "mmap", {3}));
  report.stacks.back().mapping = true;
  report.totals = {.allocated_bytes = 6000, .live_bytes = 600, .peak_live_bytes = 1200};
  report.timeline = {{.time_ns = 1'000'000, .live_bytes = 1200, .peak_live_bytes = 1200},
                     {.time_ns = 5'000'000, .live_bytes = 600, .peak_live_bytes = 1200}};
  report.totals.peak_time_ns = 500'000;
  return report;
}

std::string exported(std::string_view format, const report::Report& report, model::EventSource& source,
                     const std::vector<uint32_t>& stack_ids, MetricKind metric = MetricKind::kLive) {
  std::string text;
  const Input input{report, &source, stack_ids, metric_of(metric)};
  const auto written = write(*find_format(format), input, [&text](std::string_view piece) { text += piece; });
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return text;
}

std::string exported(std::string_view format) {
  test::MemorySource source{model::Capture{}};
  return exported(format, hostile_report(), source, {});
}

std::string gunzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::array<char, 4096> piece{};
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  EXPECT_EQ(result, Z_STREAM_END);
  inflateEnd(&stream);
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Folded, HostileNamesStayOneFrameOfOneLine) {
  const std::vector<std::string> lines = lines_of(exported("folded"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(std::ranges::count(lines[0], ';'), 3);
  EXPECT_EQ(std::ranges::count(lines[1], ';'), 4);
  EXPECT_EQ(lines[2], "malloc 300");
  EXPECT_TRUE(lines[0].ends_with(" 100"));
}

TEST(Callgrind, HostileNamesStayInTheirLines) {
  const std::set<std::string> keys = {"event",   "events", "summary", "totals", "ob",        "fl",
                                      "fn",      "cob",    "cfi",     "cfn",    "calls",     "version",
                                      "creator", "pid",    "cmd",     "part",   "positions", "# callgrind format"};
  for (const std::string& line : lines_of(exported("callgrind"))) {
    if (line.empty() || std::isdigit(line[0]) != 0) continue;
    EXPECT_TRUE(keys.contains(line.substr(0, line.find_first_of("=:")))) << line.substr(0, 100);
  }
}

TEST(Callgrind, CallsOfARecursiveFunctionCountOnce) {
  const std::vector<std::string> lines = lines_of(exported("callgrind"));
  // Of the second stack, 2 < 1 < 2 < main: main calls 2, 2 calls 1; the call of 2 by 1 is one more of the same function.
  EXPECT_EQ(std::ranges::count_if(lines, [](const std::string& line) { return line.starts_with("calls="); }), 6);
}

TEST(Massif, EachNodeHasTheCallersThatItSays) {
  size_t expected = 0;
  size_t trees = 0;
  for (const std::string& line : lines_of(exported("massif"))) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line[begin] != 'n') continue;
    if (begin == 0) {
      EXPECT_EQ(expected, 0U);
      expected = 1;
      ++trees;
    }
    expected += std::stoul(line.substr(begin + 1));
    --expected;
  }
  EXPECT_EQ(expected, 0U);
  EXPECT_EQ(trees, 2U);
}

TEST(Pprof, HostileNamesAreValidText) {
  const std::string bytes = gunzip(exported("pprof"));
  wire::VarintReader in(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  std::vector<std::string> texts;
  size_t samples = 0;
  while (!in.at_end() && in.ok()) {
    const uint64_t key = in.varint();
    if ((key & 7) == 0) {
      in.varint();
      continue;
    }
    const uint64_t size = in.varint();
    const uint8_t* field = in.bytes(size);
    ASSERT_NE(field, nullptr);
    samples += key >> 3 == 2 ? 1 : 0;
    if (key >> 3 == 6) texts.emplace_back(reinterpret_cast<const char*>(field), size);
  }
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(samples, 3U);
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts[0], "");
  for (const std::string& text : texts) EXPECT_NO_THROW((void)json(text).dump()) << text.substr(0, 100);
}

TEST(Pprof, TheProgramsMappingIsThatOfItsModuleWhateverNameThatHas) {
  test::MemorySource source{model::Capture{}};
  model::Tables tables;
  tables.modules = {{.path = "/bin/server", .build_id = "", .start = 0x1000, .end = 0x2000, .file = "/bin/check"}};
  source.on_totals({}, tables);
  report::Report report = hostile_report();
  report.capture.executable = "/bin/check";
  const std::string bytes = gunzip(exported("pprof", report, source, {}));
  EXPECT_NE(bytes.find("/bin/server"), std::string::npos);
  EXPECT_EQ(bytes.find("/bin/check"), std::string::npos);
}

TEST(Dhat, HostileNamesAreValidJson) {
  report::Report report = hostile_report();
  report.has_events = false;
  test::MemorySource source{model::Capture{}};
  const json profile = json::parse(exported("dhat", report, source, {}));
  EXPECT_EQ(profile["pps"].size(), 3U);
  uint64_t total = 0;
  for (const json& point : profile["pps"]) {
    total += point["tb"].get<uint64_t>();
    for (const json& place : point["fs"]) EXPECT_LT(place.get<size_t>(), profile["ftbl"].size());
  }
  EXPECT_EQ(total, 6000U);
  EXPECT_FALSE(profile["bklt"].get<bool>());
}

TEST(Speedscope, HostileNamesAreValidJson) {
  const json file = json::parse(exported("speedscope"));
  ASSERT_EQ(file["profiles"].size(), 5U);  // no leaks: no scan was made
  for (const json& profile : file["profiles"]) {
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    uint64_t sum = 0;
    for (const json& weight : profile["weights"]) sum += weight.get<uint64_t>();
    EXPECT_EQ(sum, profile["endValue"].get<uint64_t>());
    for (const json& sample : profile["samples"])
      for (const json& place : sample) EXPECT_LT(place.get<size_t>(), file["shared"]["frames"].size());
  }
  EXPECT_EQ(file["profiles"][0]["endValue"], 600);
}

TEST(Firefox, HostileNamesAreValidJson) {
  const json file = json::parse(exported("firefox"));
  ASSERT_EQ(file["threads"].size(), 5U);
  for (const json& thread : file["threads"]) {
    for (const char* name : {"funcTable", "frameTable", "stackTable", "samples"}) {
      for (const auto& [column, values] : thread[name].items()) {
        if (!values.is_array()) continue;
        EXPECT_EQ(values.size(), thread[name]["length"].get<size_t>()) << name << " " << column;
      }
    }
    for (const json& place : thread["samples"]["stack"])
      EXPECT_LT(place.get<size_t>(), thread["stackTable"]["length"].get<size_t>());
  }
  EXPECT_EQ(file["threads"][0]["samples"]["weight"], (json{100, 200, 300}));
}

// Two stacks: one of the report, and one that it leaves out.
struct Recorded {
  Recorded() {
    script.at(0);
    const auto wanted = script.stack({0x10, 0x40});
    const auto unwanted = script.stack({0x50});
    const auto first = script.allocate(100, 1, wire::Function::kMalloc, wanted);
    script.at(2'000'000);
    const auto second = script.allocate(50, 1, wire::Function::kMalloc, wanted);
    script.allocate(7, 1, wire::Function::kMalloc, unwanted);
    script.release(first);
    script.undo();  // of a realloc that failed
    script.at(4'000'000);
    script.release(second);
    source.on_batch(script.batch, script.tables);
    ids.resize(script.tables.sites.size());
    for (size_t site = 0; site < ids.size(); ++site)
      ids[site] =
          script.tables.sites[site].stack == wanted && script.tables.sites[site].kind == model::EventKind::kAllocate;
    report.capture.duration_ns = 5'000'000;
    report.frames = hostile_report().frames;
    report.stacks = {stack(report.frames, 1, "malloc", {0, 1, 3})};
  }
  test::EventScript script;
  test::MemorySource source{model::Capture{}};
  std::vector<uint32_t> ids;
  report::Report report;
};

TEST(Heaptrack, HasTheEventsOfTheReportsStacksWithoutThoseThatAreTakenBack) {
  Recorded recorded;
  std::string events;
  for (const std::string& line :
       lines_of(gunzip(exported("heaptrack", recorded.report, recorded.source, recorded.ids)))) {
    if (line.starts_with("s ")) {
      const size_t length = std::stoul(line.substr(2), nullptr, 16);
      EXPECT_EQ(line.substr(line.find(' ', 2) + 1).size(), length);
    } else if (std::string_view("+-c").contains(line[0])) {
      events += line + "\n";
    } else {
      EXPECT_TRUE(std::string_view("vXita").contains(line[0])) << line.substr(0, 100);
    }
  }
  EXPECT_EQ(events, "+ 0\nc 2\n+ 1\nc 4\n- 1\nc 5\n");
}

TEST(Heaptrack, HasResidentPagesAmongTheEvents) {
  Recorded recorded;
  const auto pages = [](uint64_t time_ns, uint64_t count, uint64_t peak) {
    return model::ResidentSample{.time_ns = time_ns, .anonymous_bytes = count * 4096, .peak_bytes = peak * 4096};
  };
  recorded.report.capture.from_start = true;
  recorded.source.set_resident(
      {pages(0, 1, 1), pages(3'000'000, 16, 32), pages(4'500'000, 8, 32), pages(9'000'000, 2, 32)});
  std::string lines;
  for (const std::string& line :
       lines_of(gunzip(exported("heaptrack", recorded.report, recorded.source, recorded.ids)))) {
    if (std::string_view("+-cIR").contains(line[0])) lines += line + "\n";
  }
  EXPECT_EQ(lines, "I 1000 0\nR 1\n+ 0\nc 2\n+ 1\nc 3\nR 20\nR 10\nc 4\n- 1\nR 8\nc 5\n");
}

TEST(Dhat, HasWhatEachStackHeldAtThePeakAndHowLongItsBlocksLived) {
  Recorded recorded;
  const json profile = json::parse(exported("dhat", recorded.report, recorded.source, recorded.ids));
  const json& point = profile["pps"].at(0);
  EXPECT_EQ(point["mb"], 150);
  EXPECT_EQ(point["mbk"], 2);
  EXPECT_EQ(point["gb"], 150);
  EXPECT_EQ(point["gbk"], 2);
  EXPECT_EQ(point["tl"], 5000 + 2000);  // µs: to the end of the program, and until its release
}

TEST(Metrics, WhatOneStackDoesNotKnowIsNotKnown) {
  report::Report report = hostile_report();
  EXPECT_TRUE(is_known(metric_of(MetricKind::kPeak), report));
  report.stacks[1].set_times_unknown();
  EXPECT_FALSE(is_known(metric_of(MetricKind::kPeak), report));
  const auto refused = require(metric_of(MetricKind::kPeak), report);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--aggregate"), std::string::npos);
  EXPECT_FALSE(is_known(metric_of(MetricKind::kLeaked), report));
}

}  // namespace
}  // namespace heaptap::exports
