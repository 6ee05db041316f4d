// Rows of tables that are written here by hand, and of this program's own.
#include "capture/elf/row_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "common/arch/native.h"
#include "common/unwind/cfi.h"
#include "common/unwind/row.h"

namespace heaptap::elf {
namespace {

using unwind::Row;
using unwind::RowKind;

void put(std::vector<uint8_t>& to, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void put_entry(std::vector<uint8_t>& to, std::vector<uint8_t> entry) {
  while (entry.size() % 8 != 4) entry.push_back(0);  // nop
  put(to, entry.size(), 4);
  to.insert(to.end(), entry.begin(), entry.end());
}

// A CIE as GCC writes it for x86-64: CFA = RSP + 8, return address at CFA - 8.
std::vector<uint8_t> with_cie() {
  std::vector<uint8_t> section;
  std::vector<uint8_t> cie;
  put(cie, 0xffffffff, 4);
  cie.insert(cie.end(), {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1});
  put_entry(section, cie);
  return section;
}

void put_fde(std::vector<uint8_t>& section, uint64_t begin, uint64_t bytes, std::initializer_list<uint8_t> program) {
  std::vector<uint8_t> fde;
  put(fde, 0, 4);
  put(fde, begin, 8);
  put(fde, bytes, 8);
  fde.insert(fde.end(), program);
  put_entry(section, fde);
}

model::RowTable rows_of(const std::vector<uint8_t>& section) {
  return make_rows({.architecture = wire::Architecture::kX86_64, .debug_frame = section}, std::nullopt);
}

Row row_at(const model::RowTable& table, uint64_t address) { return Row::of_word(table.row_at(address)); }

TEST(RowMaker, FollowsAFunctionThroughItsPrologue) {
  std::vector<uint8_t> section = with_cie();
  // push rbp at 1: CFA + 16, RBP at CFA - 16; pop at 0x20.
  put_fde(section, 0x1000, 0x30, {0x41, 0x0e, 16, 0x86, 2, 0x5f, 0x0e, 8});
  const model::RowTable table = rows_of(section);
  EXPECT_EQ(row_at(table, 0xfff).kind(), RowKind::kUnknown);
  EXPECT_EQ(row_at(table, 0x1000), Row(RowKind::kStackOffset, -1, 0, 1));
  EXPECT_EQ(row_at(table, 0x1001), Row(RowKind::kStackOffset, -1, -2, 2));
  EXPECT_EQ(row_at(table, 0x101f), Row(RowKind::kStackOffset, -1, -2, 2));
  EXPECT_EQ(row_at(table, 0x1020).cfa_words(), 1);
  EXPECT_EQ(row_at(table, 0x1030).kind(), RowKind::kUnknown);
}

TEST(RowMaker, HasWhatACursorOverTheTableFinds) {
  std::vector<uint8_t> section = with_cie();
  std::mt19937_64 random(3);
  std::vector<uint64_t> begins;
  uint64_t begin = 0x4000;
  for (int i = 0; i < 200; ++i) {
    const auto depth = static_cast<uint8_t>(16 + 8 * (random() % 10));
    put_fde(section, begin, 0x40,
            {static_cast<uint8_t>(0x40 | (1 + random() % 20)), 0x0e, depth, 0x86, 2,
             static_cast<uint8_t>(0x40 | (1 + random() % 20)), 0x0e, 8});
    begin += 0x40 + random() % 3 * 0x10;
  }
  const model::RowTable table = rows_of(section);
  const unwind::CfiTables tables{0, section.size(), section.data(), 0};
  for (uint64_t fde = 24, pc = 0x4000; pc < begin; ++pc) {
    using Cpu = arch::native::Unwinding;
    uint64_t at = fde;
    unwind::Extent extent = unwind::extent_of_fde<Cpu, unwind::cfi::DebugFrame>(tables, at);
    while (extent.bytes != 0 && pc >= extent.begin + extent.bytes) {
      uint32_t length;
      std::memcpy(&length, section.data() + at, sizeof(length));
      fde = at = at + 4 + length;
      extent = unwind::extent_of_fde<Cpu, unwind::cfi::DebugFrame>(tables, at);
    }
    const Row wanted = unwind::row_of_fde<Cpu, unwind::cfi::DebugFrame>(tables, at, pc);
    const Row got = row_at(table, pc);
    if (wanted.kind() == RowKind::kNoTable) {
      ASSERT_EQ(got.kind(), RowKind::kUnknown) << pc;
    } else {
      ASSERT_EQ(got, wanted) << pc;
    }
  }
}

TEST(RowMaker, TakesTheLoadedTablesWhereTheyAreMissing) {
  std::vector<uint8_t> section = with_cie();
  section[4] = section[5] = section[6] = section[7] = 0;  // as .eh_frame marks one
  std::vector<uint8_t> fde;
  put(fde, section.size() + 4, 4);  // back to the CIE
  put(fde, 0x1000, 8);
  put(fde, 0x10, 8);
  put_entry(section, fde);
  FrameSections sections{.architecture = wire::Architecture::kX86_64, .debug_frame = {}, .eh_frame = section};
  EXPECT_TRUE(make_rows(sections, std::nullopt).empty()) << "nothing was missed";
  EXPECT_TRUE(make_rows(sections, 0x2000).empty()) << "it has none there either";
  EXPECT_EQ(row_at(make_rows(sections, 0x1008), 0x1008).cfa_words(), 1);
  // Where it begins it may have no row, as a _start in assembler.
  EXPECT_EQ(row_at(make_rows(sections, model::kNoRowAnywhere), 0x1008).cfa_words(), 1);
  std::vector<uint8_t> debug = with_cie();
  put_fde(debug, 0x3000, 0x10, {});
  sections.debug_frame = debug;
  const model::RowTable both = make_rows(sections, model::kNoRowAnywhere);
  EXPECT_EQ(row_at(both, 0x1008).cfa_words(), 1);
  EXPECT_EQ(row_at(both, 0x3008).cfa_words(), 1);
}

TEST(RowMaker, DamagedTablesGiveWhatIsInThem) {
  std::vector<uint8_t> section = with_cie();
  put_fde(section, 0x1000, 0x30, {0x41, 0x0e, 16, 0x86, 2, 0x5f, 0x0e, 8});
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> damaged = section;
    for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    const model::RowTable table = rows_of(damaged);
    ASSERT_EQ(table.begins.size(), table.rows.size());
    ASSERT_TRUE(std::ranges::is_sorted(table.begins));
  }
  EXPECT_TRUE(make_rows({.architecture = wire::Architecture::kUnknown, .debug_frame = section}, 0x1000).empty());
}

}  // namespace
}  // namespace heaptap::elf
