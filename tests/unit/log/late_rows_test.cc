// Rows that come late: stack walks find what the collector puts into a log; and what anybody made of them does no harm.
#include "capture/log/late_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "capture/log/log_memory.h"
#include "common/arch/native.h"
#include "common/unwind/late_row.h"
#include "common/unwind/step.h"
#include "common/wire/late_rows.h"

namespace heaptap::log {
namespace {

using unwind::Row;
using unwind::RowKind;
using Cpu = arch::native::Unwinding;

model::RowTable rows(uint64_t base, unsigned count) {
  model::RowTable table;
  for (unsigned i = 0; i < count; ++i)
    table.add(base + uint64_t{16} * i, Row(RowKind::kStackOffset, -1, 0, i + 1).word());
  return table;
}

uint64_t key_of(const std::string& id) {
  return wire::late_rows_key(reinterpret_cast<const uint8_t*>(id.data()), id.size());
}

class LateRowsTest : public ::testing::Test {
 protected:
  LateRowsTest()
      : memory_(
            *LogMemory::create({.chunk_memory_bytes = 1u << 20, .late_rows_bytes = 1u << 16, .omitted_objects = {}})) {}
  [[nodiscard]] wire::LateRowsReader reader() const { return {memory_->header(), memory_->header()}; }

  std::unique_ptr<LogMemory> memory_;
};

TEST_F(LateRowsTest, AreFoundByTheObjectsBuildId) {
  LateRowsWriter writer(memory_->parts());
  const wire::LateRowsReader reader = this->reader();
  EXPECT_EQ(reader.reach(), 0u);
  EXPECT_EQ(reader.find(key_of("one")).row_at(0x1000), 0u);
  EXPECT_TRUE(writer.add("one", rows(0x1000, 101)));
  EXPECT_TRUE(writer.add("two", rows(0x400000, 50)));
  const uint32_t reach = reader.reach();
  EXPECT_GT(reach, 0u);
  for (uint64_t i = 0; i < 101 * 16; ++i) {
    ASSERT_EQ(reader.find(key_of("one")).row_at(0x1000 + i), rows(0x1000, 101).row_at(0x1000 + i)) << i;
  }
  EXPECT_EQ(reader.find(key_of("one")).row_at(0xfff), 0u);
  EXPECT_EQ(Row::of_word(reader.find(key_of("two")).row_at(0x400010)).cfa_words(), 2);
  EXPECT_EQ(reader.find(key_of("three")).count, 0u);
  EXPECT_TRUE(writer.add("one", rows(0x1000, 3)));
  EXPECT_EQ(reader.reach(), reach) << "once";
}

TEST_F(LateRowsTest, ThatFindNoRoomAreLeftOut) {
  LateRowsWriter writer(memory_->parts());
  EXPECT_FALSE(writer.add("large", rows(0, 10'000)));
  EXPECT_EQ(reader().reach(), 0u);
  EXPECT_TRUE(writer.add("small", rows(0, 1000)));
  const auto none = *LogMemory::create({.chunk_memory_bytes = 1u << 20, .omitted_objects = {}});
  EXPECT_FALSE(wire::LateRowsReader(none->header(), none->header()).are_possible());
  EXPECT_FALSE(LateRowsWriter(none->parts()).add("one", rows(0, 1)));
}

TEST_F(LateRowsTest, RoomCanBeLeftForOthers) {
  LateRowsWriter writer(memory_->parts());
  const uint64_t half_bytes = writer.room_bytes() / 2;
  EXPECT_FALSE(writer.add("large", rows(0, 4000), half_bytes));
  EXPECT_TRUE(writer.add("one", rows(0, 2000), half_bytes));
  EXPECT_FALSE(writer.add("two", rows(0, 2000), half_bytes));
  EXPECT_GE(writer.room_bytes(), half_bytes);
  EXPECT_TRUE(writer.add("two", rows(0, 2000)));
}

TEST_F(LateRowsTest, MissesAreToldOnceEach) {
  LateRowsWriter writer(memory_->parts());
  wire::LogHeader& log = memory_->header();
  wire::note_row_miss(log, 17);
  wire::note_row_miss(log, 19);
  EXPECT_EQ(writer.take_misses(), (std::vector<uint64_t>{17, 19}));
  EXPECT_TRUE(writer.take_misses().empty());
  for (uint64_t i = 0; i < 1000; ++i) wire::note_row_miss(log, 100 + i);
  EXPECT_EQ(writer.take_misses().size(), wire::kMaxRowMisses - 2);
  log.row_miss_count.store(UINT32_MAX);
  EXPECT_TRUE(writer.take_misses().empty());
}

// The program can write to its log.
TEST_F(LateRowsTest, ThatWereOverwrittenAreReadWithinTheirBounds) {
  LateRowsWriter writer(memory_->parts());
  ASSERT_TRUE(writer.add("one", rows(0x1000, 101)));
  ASSERT_TRUE(writer.add("two", rows(0x400000, 50)));
  const wire::LateRowsReader reader = this->reader();
  wire::LogHeader& log = memory_->header();
  const uint64_t from = log.late_rows_offset;
  std::mt19937_64 random(7);
  for (int i = 0; i < 50'000; ++i) {
    auto* const bytes = reinterpret_cast<uint8_t*>(&log) + from;
    bytes[random() % 2048] = static_cast<uint8_t>(random());
    if (i % 10 == 0) log.late_rows_bytes.store(static_cast<uint32_t>(random() >> (32 + random() % 20)));
    const wire::LateRows found = reader.find(key_of(i % 2 == 0 ? "one" : "two"));
    (void)unwind::late_row<Cpu>(found.row_at(random() >> (random() % 64)));
  }
}

// A stack of made-up words, of which nothing else may be read.
struct Stack {
  static constexpr uint64_t kBegin = 0x7ffd'0000'0000;
  std::vector<uint64_t> words;
  uint64_t reads = 0;

  bool load(uint64_t address, uint64_t& value) {
    ++reads;
    if (address % 8 != 0 || address < kBegin || address - kBegin >= words.size() * 8) return false;
    value = words[(address - kBegin) / 8];
    return true;
  }
};

TEST(LateRow, WhateverItSaysAWalkGoesTowardsTheEnd) {
  if (unwind::kHasLinkRegister<Cpu>) GTEST_SKIP();
  std::mt19937_64 random(11);
  for (int round = 0; round < 20'000; ++round) {
    Stack stack;
    for (int i = 0; i < 64; ++i) stack.words.push_back(random() % 2 == 0 ? random() : Stack::kBegin + random() % 600);
    unwind::Position<Cpu> at;
    at.frame.key = 0x1000;
    at.frame.sp = Stack::kBegin;
    at.frame.fp = random() % 2 == 0 ? random() : Stack::kBegin + 8 * (random() % 64);
    unsigned steps = 0;
    for (; steps < 1000; ++steps) {
      // Any kind, small distances and any.
      const uint64_t word =
          random() % 4 == 0 ? random()
                            : Row(static_cast<RowKind>(random() % 16), static_cast<int64_t>(random() % 32) - 16,
                                  static_cast<int64_t>(random() % 64) - 32, static_cast<int64_t>(random() % 64) - 32)
                                  .word();
      const Row row = unwind::late_row<Cpu>(word);
      if (row.kind() == RowKind::kNoTable || row.kind() == RowKind::kEnd || row.kind() == RowKind::kUnsupported) break;
      const uint64_t before = at.frame.sp;
      if (!unwind::step_by_row(Cpu(), row, stack, at)) break;
      ASSERT_GT(at.frame.sp, before);
    }
    ASSERT_LE(steps, stack.words.size());
  }
}

TEST(LateRow, IsNoSignalsFrameAndNoKindThatIsntThere) {
  EXPECT_EQ(unwind::late_row<Cpu>(0).kind(), RowKind::kNoTable);
  EXPECT_EQ(unwind::late_row<Cpu>(Row(RowKind::kSignal).word()).kind(), RowKind::kNoTable);
  EXPECT_EQ(unwind::late_row<Cpu>(Row(RowKind::kNoTable).word()).kind(), RowKind::kNoTable);
  for (uint64_t kind = 15; kind < 16; ++kind) EXPECT_EQ(unwind::late_row<Cpu>(kind).kind(), RowKind::kNoTable);
  EXPECT_EQ(unwind::late_row<Cpu>(Row(RowKind::kEnd).word()).kind(), RowKind::kEnd);
}

}  // namespace
}  // namespace heaptap::log
