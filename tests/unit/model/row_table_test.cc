#include "common/model/row_table.h"

#include <gtest/gtest.h>

#include <random>

namespace heaptap::model {
namespace {

TEST(RowTable, GivesTheRowThatBeganLast) {
  RowTable table;
  EXPECT_EQ(table.row_at(0), 0u);
  EXPECT_TRUE(table.add(0x1000, 7));
  EXPECT_TRUE(table.add(0x1010, 9));
  EXPECT_TRUE(table.add(0x1020, 0));
  EXPECT_TRUE(table.add(0x2000, 5));
  EXPECT_EQ(table.row_at(0xfff), 0u);
  EXPECT_EQ(table.row_at(0x1000), 7u);
  EXPECT_EQ(table.row_at(0x100f), 7u);
  EXPECT_EQ(table.row_at(0x1010), 9u);
  EXPECT_EQ(table.row_at(0x1fff), 0u) << "between functions there is none";
  EXPECT_EQ(table.row_at(0x2000), 5u);
  EXPECT_EQ(table.row_at(0x2000 + (uint64_t{1} << 40)), 0u);
}

TEST(RowTable, TakesThemInOrderAlone) {
  RowTable table;
  EXPECT_TRUE(table.add(0x1000, 7));
  EXPECT_FALSE(table.add(0x900, 7));
  EXPECT_FALSE(table.add(0x1000 + (uint64_t{1} << 33), 7)) << "it doesn't fit";
  EXPECT_TRUE(table.add(0x1000, 8)) << "the later one of two at a place";
  EXPECT_EQ(table.row_at(0x1000), 8u);
  EXPECT_TRUE(table.add(0x1008, 8));
  EXPECT_EQ(table.begins.size(), 1u) << "the same row goes on";
}

RowTable made_up(unsigned seed) {
  std::mt19937_64 random(seed);
  RowTable table;
  uint64_t at = random() % 0x1000000;
  for (int i = 0; i < 1000; ++i) {
    table.add(at, random() >> (random() % 64));
    at += 1 + random() % 300;
  }
  return table;
}

TEST(RowTable, IsTheSameOnTheOtherSide) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RowTable table = made_up(seed);
    const auto again = decode_rows(encode(table));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->base, table.base);
    EXPECT_EQ(again->begins, table.begins);
    EXPECT_EQ(again->rows, table.rows);
  }
  ASSERT_TRUE(decode_rows(encode(RowTable())));
}

TEST(RowTable, TakesNoMoreMemoryThanItsRowsNeed) {
  const auto table = decode_rows(encode(made_up(1)));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->begins.capacity(), table->begins.size());
  EXPECT_EQ(table->rows.capacity(), table->rows.size());
}

TEST(RowTable, DamagedBytesAreNone) {
  const std::vector<uint8_t> bytes = encode(made_up(1));
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 10) {
    EXPECT_FALSE(decode_rows(std::span(bytes).first(size))) << size;
  }
  std::vector<uint8_t> more = bytes;
  more.push_back(0);
  EXPECT_FALSE(decode_rows(more));
  EXPECT_FALSE(decode_rows(std::vector<uint8_t>{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})) << "more rows than bytes";
  EXPECT_FALSE(decode_rows(std::vector<uint8_t>{0, 2, 1, 5, 0, 6})) << "two at one place";
}

}  // namespace
}  // namespace heaptap::model
