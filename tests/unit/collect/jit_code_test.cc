#include "collect/jit_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace heaptap::collect {
namespace {

std::string name_at(const JitCode& code, uint64_t address) {
  const std::string* const name = code.name_at(address);
  return name != nullptr ? *name : "-";
}

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

TEST(JitCode, AMapHasANameForEachAddressOfARange) {
  JitCode code;
  const std::string text = "1000 10 first one\n0x2000 0x8 LazyCompile:~run /app.js:3\n";
  EXPECT_EQ(read_perf_map(text, code), text.size());
  EXPECT_EQ(name_at(code, 0xfff), "-");
  EXPECT_EQ(name_at(code, 0x1000), "first one");
  EXPECT_EQ(name_at(code, 0x100f), "first one");
  EXPECT_EQ(name_at(code, 0x1010), "-");
  EXPECT_EQ(name_at(code, 0x2007), "LazyCompile:~run /app.js:3");
}

TEST(JitCode, ALineThatIsBeingWrittenIsLeft) {
  JitCode code;
  EXPECT_EQ(read_perf_map("1000 10 whole\n2000 10 ha", code), 14U);
  EXPECT_EQ(code.count(), 1U);
}

TEST(JitCode, LinesThatMakeNoSenseAreLeftOut) {
  JitCode code;
  const std::string text =
      "\n \nx y z\n1000\n1000 10\n1000 0 nothing\nffffffffffffffff 10 behind the end\n10000000000000000 1 too long\n-1 "
      "1 x\n";
  EXPECT_EQ(read_perf_map(text, code), text.size());
  EXPECT_EQ(code.count(), 0U);
}

TEST(JitCode, OfWhatOverlapsTheLaterOneCounts) {
  JitCode code;
  read_perf_map("1000 100 old\n1100 100 next\n1080 100 new\n", code);
  EXPECT_EQ(name_at(code, 0x107f), "old");
  EXPECT_EQ(name_at(code, 0x1080), "new");
  EXPECT_EQ(name_at(code, 0x117f), "new");
  EXPECT_EQ(name_at(code, 0x1180), "next");
}

TEST(JitCode, NamesAreCutAtTheirLimit) {
  JitCode code;
  read_perf_map("1000 10 " + std::string(100'000, 'n') + "\n", code);
  EXPECT_EQ(name_at(code, 0x1000).size(), 1024U);
}

TEST(JitCode, ADumpLoadsAndMovesCode) {
  const std::string head = bytes_of(uint32_t{0x4A695444}, uint32_t{1}, uint32_t{40}, uint32_t{62}, uint32_t{0},
                                    uint32_t{1}, uint64_t{7}, uint64_t{0});
  EXPECT_EQ(jitdump_head_bytes(head), 40U);
  EXPECT_EQ(jitdump_head_bytes("something else that is long enough to be the head"), 0U);
  const std::string loaded = load_record(0x1000, 16, "run");
  const std::string moved = bytes_of(uint32_t{1}, uint32_t{64}, uint64_t{8}, uint32_t{1}, uint32_t{1}, uint64_t{0x3000},
                                     uint64_t{0x1000}, uint64_t{0x3000}, uint64_t{16}, uint64_t{0});
  JitCode code;
  EXPECT_EQ(read_jitdump(loaded + moved.substr(0, 20), code), loaded.size());
  EXPECT_EQ(name_at(code, 0x100f), "run");
  EXPECT_EQ(read_jitdump(moved, code), moved.size());
  EXPECT_EQ(name_at(code, 0x1000), "-");
  EXPECT_EQ(name_at(code, 0x300f), "run");
}

TEST(JitCode, AnyBytesDoNoHarm) {
  std::mt19937 random(20261126);
  const std::string sound = load_record(0x1000, 16, "run") + load_record(0x2000, 300, "walk");
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = sound;
    for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    JitCode code;
    EXPECT_LE(read_jitdump(bytes, code), bytes.size());
    EXPECT_LE(read_perf_map(bytes, code), bytes.size());
  }
}

}  // namespace
}  // namespace heaptap::collect
