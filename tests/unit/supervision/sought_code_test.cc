#include "capture/supervision/sought_code.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace heaptap::supervision {
namespace {

constexpr SoughtCodeLimits kMany{.codes = 1000, .name_bytes = 100'000};

// By the codes' numbers.
std::map<model::CodeId, std::string> named(SoughtCode& code) {
  std::map<model::CodeId, std::string> names;
  for (model::CodeName& name : code.end()) names[name.code] = std::move(name.name);
  return names;
}

// Codes 0, 1, 2 … at these addresses, in a search that has begun.
SoughtCode sought(std::initializer_list<uint64_t> addresses, SoughtCodeLimits limits = kMany) {
  SoughtCode code(limits);
  model::CodeId number = 0;
  for (const uint64_t address : addresses) code.add(number++, address);
  code.begin();
  return code;
}

using Names = std::map<model::CodeId, std::string>;

template <typename... Numbers>
std::string bytes_of(Numbers... numbers) {
  std::string bytes;
  const auto append = [&bytes](auto number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  (append(numbers), ...);
  return bytes;
}

std::string load_record(uint64_t begin, uint64_t code_bytes, const std::string& name) {
  const std::string rest = bytes_of(uint32_t{1}, uint32_t{1}, begin, begin, code_bytes, uint64_t{0}) + name + '\0' +
                           std::string(code_bytes, 'c');
  return bytes_of(uint32_t{0}, static_cast<uint32_t>(16 + rest.size()), uint64_t{7}) + rest;
}

TEST(SoughtCode, AMapHasANameForEachAddressOfARange) {
  SoughtCode code = sought({0xfff, 0x1000, 0x100f, 0x1010, 0x2007});
  const std::string text = "1000 10 first one\n0x2000 0x8 LazyCompile:~run /app.js:3\n";
  EXPECT_EQ(read_perf_map(text, code), text.size());
  EXPECT_EQ(named(code), (Names{{1, "first one"}, {2, "first one"}, {4, "LazyCompile:~run /app.js:3"}}));
}

TEST(SoughtCode, ALineThatIsBeingWrittenIsLeft) {
  SoughtCode code = sought({0x1000, 0x2000});
  EXPECT_EQ(read_perf_map("1000 10 whole\n2000 10 ha", code), 14U);
  EXPECT_EQ(named(code), (Names{{0, "whole"}}));
}

TEST(SoughtCode, LinesThatMakeNoSenseAreLeftOut) {
  SoughtCode code = sought({0x1000, UINT64_MAX, 1});
  const std::string text =
      "\n \nx y z\n1000\n1000 10\n1000 10 \n1000 0 nothing\nffffffffffffffff 10 behind the end\n10000000000000000 1 "
      "too "
      "long\n-1 1 x\n";
  EXPECT_EQ(read_perf_map(text, code), text.size());
  EXPECT_EQ(named(code), Names());
}

TEST(SoughtCode, OfWhatOverlapsTheLaterOneCounts) {
  SoughtCode code = sought({0x1000, 0x107f, 0x1080, 0x117f, 0x1180, 0x2000, 0x2010, 0x2020});
  read_perf_map("1000 100 old\n1100 100 next\n1080 100 new\n2000 100 around\n2010 8 within\n", code);
  EXPECT_EQ(
      named(code),
      (Names{
          {0, "old"}, {1, "old"}, {2, "new"}, {3, "new"}, {4, "next"}, {5, "around"}, {6, "within"}, {7, "around"}}));
}

TEST(SoughtCode, WhatIsNamedIsSoughtNoMore) {
  SoughtCode code = sought({0x1000, 0x2000});
  EXPECT_FALSE(code.needs_all());
  read_perf_map("1000 10 one\n", code);
  EXPECT_EQ(named(code), (Names{{0, "one"}}));
  code.begin();
  read_perf_map("1000 10 another\n2000 10 two\n", code);
  EXPECT_EQ(named(code), (Names{{1, "two"}}));
  EXPECT_TRUE(code.is_empty());
}

TEST(SoughtCode, WhatComesDuringASearchTakesPartInTheNextOne) {
  SoughtCode code = sought({0x1000});
  code.add(1, 0x1004);
  read_perf_map("1000 10 one\n", code);
  EXPECT_EQ(named(code), (Names{{0, "one"}}));
  EXPECT_TRUE(code.needs_all());
  code.begin();
  read_perf_map("1000 10 one\n", code);
  EXPECT_EQ(named(code), (Names{{1, "one"}}));
}

TEST(SoughtCode, NamesAreCutAtTheirLimit) {
  SoughtCode code = sought({0x1000});
  read_perf_map("1000 10 " + std::string(100'000, 'n') + "\n", code);
  EXPECT_EQ(named(code)[0].size(), 1024U);
}

TEST(SoughtCode, OfTooManyCodesTheFirstAreSought) {
  SoughtCode code = sought({0x1000, 0x2000, 0x3000}, {.codes = 2, .name_bytes = 1000});
  read_perf_map("1000 10 one\n2000 10 two\n3000 10 three\n", code);
  EXPECT_EQ(named(code), (Names{{0, "one"}, {1, "two"}}));
}

TEST(SoughtCode, NamesThatFindNoRoomComeWithTheNextSearch) {
  SoughtCode code = sought({0x1000, 0x2000, 0x3000}, {.codes = 10, .name_bytes = 8});
  const std::string text = "1000 10 first\n2000 10 second\n3000 10 end\n";
  Names all;
  for (int searches = 0; searches < 3; ++searches) {
    read_perf_map(text, code);
    all.merge(named(code));
    EXPECT_EQ(code.needs_all(), searches < 1) << searches;
    code.begin();
  }
  EXPECT_EQ(all, (Names{{0, "first"}, {1, "second"}, {2, "end"}}));
}

// One name of 1,024 bytes for all of them is no more than a name for each.
TEST(SoughtCode, WhatIsHandedOutIsBounded) {
  SoughtCode code({.codes = 1000, .name_bytes = 10'000});
  for (model::CodeId i = 0; i < 1000; ++i) code.add(i, 0x1000 + i * 16);
  size_t count = 0;
  for (int searches = 0; searches < 200 && !code.is_empty(); ++searches) {
    code.begin();
    code.add_range(0, UINT64_MAX, std::string(5000, 'n'));
    for (uint64_t i = 0; i < 1000; i += 2) code.add_range(0x1000 + i * 16, 1, "n");  // cuts it into pieces
    size_t bytes = 0;
    for (const model::CodeName& name : code.end()) bytes += name.name.size(), ++count;
    EXPECT_LE(bytes, 10'000U);
  }
  EXPECT_EQ(count, 1000U);
}

TEST(SoughtCode, ADumpLoadsCode) {
  const std::string head = bytes_of(uint32_t{0x4A695444}, uint32_t{1}, uint32_t{40}, uint32_t{62}, uint32_t{0},
                                    uint32_t{1}, uint64_t{7}, uint64_t{0});
  EXPECT_EQ(jitdump_head_bytes(head), 40U);
  EXPECT_EQ(jitdump_head_bytes("something else that is long enough to be the head"), 0U);
  const std::string loaded = load_record(0x1000, 16, "run");
  SoughtCode code = sought({0x100f});
  EXPECT_EQ(read_jitdump(loaded + loaded.substr(0, 20), loaded.size() + 20, code), loaded.size());
  EXPECT_EQ(named(code), (Names{{0, "run"}}));
}

TEST(SoughtCode, TheCodeItselfIsPassedOver) {
  const std::string loaded = load_record(0x1000, 100'000, "run");
  SoughtCode code = sought({0x1000});
  EXPECT_EQ(read_jitdump(loaded.substr(0, 2000), loaded.size(), code), loaded.size());
  EXPECT_EQ(named(code), (Names{{0, "run"}}));
  code.begin();
  // As long as it isn't all in the file it may be anything.
  EXPECT_EQ(read_jitdump(loaded.substr(0, 2000), loaded.size() - 1, code), 0U);
}

TEST(SoughtCode, CodeThatWasMovedHasNoOldName) {
  const std::string moved = bytes_of(uint32_t{1}, uint32_t{64}, uint64_t{8}, uint32_t{1}, uint32_t{1}, uint64_t{0x3000},
                                     uint64_t{0x2000}, uint64_t{0x1000}, uint64_t{16}, uint64_t{0});
  const std::string text = load_record(0x1000, 16, "run") + moved;
  SoughtCode code = sought({0x1000, 0x2000});
  EXPECT_EQ(read_jitdump(text, text.size(), code), text.size());
  EXPECT_EQ(named(code), Names());
}

TEST(SoughtCode, AnyBytesDoNoHarm) {
  std::mt19937 random(20261126);
  const std::string sound = load_record(0x1000, 16, "run") + load_record(0x2000, 300, "walk") + "1000 10 one\n";
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = sound;
    for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    SoughtCode code = sought({0x1000, 0x2000, 0x2001, UINT64_MAX, 0});
    const uint64_t file_bytes = bytes.size() + random() % 1000;
    EXPECT_LE(read_jitdump(bytes, file_bytes, code), file_bytes);
    EXPECT_LE(read_perf_map(bytes, code), bytes.size());
    EXPECT_LE(code.end().size(), 5U);
  }
}

}  // namespace
}  // namespace heaptap::supervision
