#include "html/html_report.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "golden.h"
#include "html/document.h"
#include "html/folding.h"
#include "html/packed_text.h"
#include "html/shell.h"

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
    stack.frames = {i + 1, 0};
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

nlohmann::json document_of(const Report& report, const DocumentOptions& options = {.title = "app"}) {
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

TEST(Document, SaysWhatIsNotKnownAsNull) {
  Report report = with_stacks(1);
  report.stacks[0].live_known = false;
  report.stacks[0].times_known = false;
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
  report.frames[1].function = report.frames[1].file = report.frames[1].module = kHostile;
  report.frames[0].function = std::string(10'000, 'x');
  const std::string html = make_html(report, {.title = kHostile});
  EXPECT_EQ(html.find("alert(1)</script>"), html.npos);
  EXPECT_EQ(html.find('\x1b'), html.npos);
  EXPECT_NE(html.find("&lt;/script&gt;"), html.npos);
  const auto document = document_of(report, {.title = kHostile});
  EXPECT_NE(document["strings"].dump().find("alert(1)"), std::string::npos) << "it is kept, as text";
}

TEST(Html, FitsItsSizeWhateverTheTrace) {
  Report report = with_stacks(300'000);
  const std::string html = make_html(report, {.title = "app"});
  EXPECT_LE(html.size(), kMaxFileBytes);
  EXPECT_GT(make_html(with_stacks(300'000), {.title = "app", .full = true}).size(), html.size());
}

}  // namespace
}  // namespace heaptap::html
