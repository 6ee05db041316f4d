// Rows from ARM's exception index: each instruction, each form of an entry, and tables that make no sense.
#include "common/unwind/exception_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "common/arch/arm/registers.h"
#include "common/unwind/loaded_tables.h"

namespace heaptap::unwind {
namespace {

using Arm = arch::arm::Unwinding;

constexpr uint64_t kIndex = 0x20000;
constexpr uint64_t kFunctions = 0x10000;  // each has 256 bytes
constexpr uint64_t kFunctionBytes = 0x100;
constexpr uint32_t kFinishThrice = 0x80b0b0b0;
constexpr Row kUnsupported(RowKind::kUnsupported);
constexpr Row kNoTable(RowKind::kNoTable);

// An index of functions that lie side by side, and the words that its entries point at, right behind it.
class Index {
 public:
  // Each function's second word. Those of `outside` are in the table behind: the entry points at its first one.
  Index(std::initializer_list<uint32_t> entries, const std::vector<uint32_t>& outside = {}) {
    uint64_t place = kIndex;
    uint64_t function = kFunctions;
    for (const uint32_t word : entries) {
      words_.push_back(static_cast<uint32_t>(function - place) & 0x7fffffff);
      const uint64_t behind = kIndex + entries.size() * exidx::kEntryBytes;
      words_.push_back(word == 0 ? static_cast<uint32_t>(behind - (place + 4)) & 0x7fffffff : word);
      place += exidx::kEntryBytes;
      function += kFunctionBytes;
    }
    index_bytes_ = words_.size() * sizeof(uint32_t);
    words_.insert(words_.end(), outside.begin(), outside.end());
  }

  [[nodiscard]] CfiTables tables() const {
    const uint64_t bytes = words_.size() * sizeof(uint32_t);
    return {kIndex, kIndex + bytes, reinterpret_cast<const uint8_t*>(words_.data()), kIndex, index_bytes_};
  }
  [[nodiscard]] Row row_of(size_t function) const {
    return find_indexed_row<Arm>(tables(), kFunctions + function * kFunctionBytes + 9);
  }

 private:
  std::vector<uint32_t> words_;
  uint64_t index_bytes_ = 0;
};

// The row of at most 1,022 bytes of instructions.
Row row_of(std::vector<uint8_t> code) {
  while (code.size() % 4 != 2) code.push_back(0xb0);
  std::vector<uint32_t> words{0x81000000u | static_cast<uint32_t>(code.size() / 4) << 16 |
                              static_cast<uint32_t>(code[0]) << 8 | code[1]};
  for (size_t i = 2; i < code.size(); i += 4) {
    words.push_back(static_cast<uint32_t>(code[i]) << 24 | static_cast<uint32_t>(code[i + 1]) << 16 |
                    static_cast<uint32_t>(code[i + 2]) << 8 | code[i + 3]);
  }
  return Index({0}, words).row_of(0);
}

// Distances in words: of the CFA from the register, of the return address and the frame pointer from the CFA.
Row by_stack(int64_t cfa, int64_t return_address, int64_t frame_pointer = 0) {
  return Row(RowKind::kStackOffset, return_address, frame_pointer, cfa);
}
Row by_frame(int64_t cfa, int64_t return_address, int64_t frame_pointer = 0) {
  return Row(RowKind::kFrameOffset, return_address, frame_pointer, cfa);
}

TEST(ExceptionIndex, APushOfRegistersIsARow) {
  EXPECT_EQ(row_of({0xa8}), by_stack(2, -1));                          // pop {r4, lr}
  EXPECT_EQ(row_of({0xab}), by_stack(5, -1, -2));                      // pop {r4-r7, lr}
  EXPECT_EQ(row_of({0x84, 0x08}), by_stack(2, -1, -2));                // pop {r7, lr}
  EXPECT_EQ(row_of({0x84, 0x00}), by_stack(1, -1));                    // pop {lr}
  EXPECT_EQ(row_of({0x88, 0x01}), by_stack(2, -1));                    // pop {r4, pc}
  EXPECT_EQ(row_of({0x8c, 0x00}), by_stack(2, -1));                    // pop {lr, pc}
  EXPECT_EQ(row_of({0x84, 0xff}), by_stack(9, -1, -6));                // pop {r4-r11, lr}
  EXPECT_EQ(row_of({0xa3, 0x84, 0x00}), by_stack(5, -1, -2));          // pop {r4-r7}; pop {lr}
  EXPECT_EQ(row_of({0x84, 0x00, 0xb1, 0x0f}), by_stack(5, -5));        // pop {lr}; pop {r0-r3}: variadic
  EXPECT_EQ(row_of({0xb1, 0x08, 0x84, 0x00, 0x00}), by_stack(3, -2));  // pop {r3}; pop {lr}; sp += 4
  EXPECT_EQ(row_of({}), Row(RowKind::kStackLeaf));
  EXPECT_EQ(row_of({0x01}), Row(RowKind::kStackLeaf, 0, 0, 2));
}

TEST(ExceptionIndex, MemoryBelowTheRegistersCounts) {
  EXPECT_EQ(row_of({0x00, 0xa8}), by_stack(3, -1));                        // sp += 4
  EXPECT_EQ(row_of({0x3f, 0x0c, 0x84, 0x00}), by_stack(64 + 13 + 1, -1));  // sp += 256; sp += 52
  EXPECT_EQ(row_of({0x05, 0x41, 0xa8}), by_stack(6 - 2 + 2, -1));          // sp += 24; sp -= 8
  EXPECT_EQ(row_of({0xb2, 0x00, 0xa8}), by_stack(129 + 2, -1));            // sp += 0x204
  EXPECT_EQ(row_of({0xb2, 0x81, 0x01, 0xa8}), by_stack(129 + 129 + 2, -1));
  EXPECT_EQ(row_of({0xd0, 0xa8}), by_stack(2 + 2, -1));   // vpop {d8}
  EXPECT_EQ(row_of({0xd7, 0xa8}), by_stack(16 + 2, -1));  // vpop {d8-d15}
  EXPECT_EQ(row_of({0xb9, 0xa8}), by_stack(5 + 2, -1));   // fldmfdx {d8, d9}
  EXPECT_EQ(row_of({0xb3, 0x81, 0xa8}), by_stack(5 + 2, -1));
  EXPECT_EQ(row_of({0xc8, 0x03, 0xa8}), by_stack(8 + 2, -1));  // vpop {d16-d19}
  EXPECT_EQ(row_of({0xc9, 0x83, 0xa8}), by_stack(8 + 2, -1));  // vpop {d8-d11}
}

TEST(ExceptionIndex, FramesMayCountFromTheFramePointer) {
  EXPECT_EQ(row_of({0x97, 0x84, 0x08}), by_frame(2, -1, -2));      // sp = r7; pop {r7, lr}
  EXPECT_EQ(row_of({0x97, 0x03, 0xab}), by_frame(4 + 5, -1, -2));  // sp = r7; sp += 16; pop {r4-r7, lr}
  EXPECT_EQ(row_of({0x00, 0x97, 0x41, 0xa8}), by_frame(-2 + 2, -1));
  EXPECT_EQ(row_of({0x9b, 0x41, 0x84, 0x80}), kUnsupported);  // sp = r11, which rows don't have
  EXPECT_EQ(row_of({0xa8, 0x97}), kUnsupported);              // what was taken before is at no known distance
}

TEST(ExceptionIndex, ASignalsFrameHasAllRegisters) {
  EXPECT_EQ(row_of({0x27, 0xb1, 0x0f, 0x8f, 0xff}), Row(RowKind::kSignal));
  EXPECT_EQ(row_of({0x07, 0xb1, 0x0f, 0x8f, 0xff}), kUnsupported);  // without the signal's description
  EXPECT_EQ(row_of({0x27, 0x8f, 0xff}), kUnsupported);
  EXPECT_EQ(row_of({0x82, 0x00}), kUnsupported);  // pop {sp}
}

TEST(ExceptionIndex, WhatIsUnknownIsNoRow) {
  EXPECT_EQ(row_of({0x80, 0x00}), kUnsupported);  // "refuse to unwind"
  EXPECT_EQ(row_of({0x9d}), kUnsupported);        // reserved
  EXPECT_EQ(row_of({0xb1, 0x00}), kUnsupported);  // spare
  EXPECT_EQ(row_of({0xb1, 0x1f}), kUnsupported);
  EXPECT_EQ(row_of({0xb4}), kUnsupported);
  EXPECT_EQ(row_of({0xc0}), kUnsupported);  // another coprocessor's
  EXPECT_EQ(row_of({0xca}), kUnsupported);
  EXPECT_EQ(row_of({0xe0}), kUnsupported);
  EXPECT_EQ(row_of({0xb2, 0xff, 0xff, 0xff, 0xff, 0x7f}), kUnsupported);
}

TEST(ExceptionIndex, ATableMayBeLong) {
  EXPECT_EQ(row_of(std::vector<uint8_t>(1022, 0x00)), Row(RowKind::kStackLeaf, 0, 0, 1022));
}

TEST(ExceptionIndex, AnEntryHasItsInstructionsOrPointsAtThem) {
  EXPECT_EQ(Index({0x80a8b0b0}).row_of(0), by_stack(2, -1));
  EXPECT_EQ(Index({0}, {0x80a8b0b0}).row_of(0), by_stack(2, -1));
  EXPECT_EQ(Index({0}, {0x81010007, 0xa8b0b0b0}).row_of(0), by_stack(1 + 8 + 2, -1));
  EXPECT_EQ(Index({0}, {0x8200a8b0}).row_of(0), by_stack(2, -1));
  // A language's own routine.
  EXPECT_EQ(Index({0}, {0x00001000, 0x00a8b0b0}).row_of(0), by_stack(2, -1));
  EXPECT_EQ(Index({0}, {0x00001000, 0x01000000, 0xa8b0b0b0}).row_of(0), by_stack(3 + 2, -1));
  EXPECT_EQ(Index({0x81a8b0b0}).row_of(0), kUnsupported);  // another routine has no room in an entry
  EXPECT_EQ(Index({0}, {0x83a8b0b0}).row_of(0), kUnsupported);
  EXPECT_EQ(Index({0}, {0x8105a8b0}).row_of(0), by_stack(2, -1));  // words that nothing leads to
  EXPECT_EQ(Index({0}, {0x81050000}).row_of(0), kUnsupported);     // and that are missing
  EXPECT_EQ(Index({0}).row_of(0), kUnsupported);
}

TEST(ExceptionIndex, AFunctionIsFoundByItsBeginning) {
  const Index index({0x80a8b0b0, exidx::kCannotUnwind, kFinishThrice, 0x80abb0b0});
  EXPECT_EQ(index.row_of(0), by_stack(2, -1));
  EXPECT_EQ(index.row_of(1), kNoTable);
  EXPECT_EQ(index.row_of(2), Row(RowKind::kStackLeaf));
  EXPECT_EQ(index.row_of(3), by_stack(5, -1, -2));
  EXPECT_EQ(index.row_of(9), by_stack(5, -1, -2));  // whatever is behind
  const CfiTables tables = index.tables();
  EXPECT_EQ(find_indexed_row<Arm>(tables, kFunctions - 1), kNoTable);
  EXPECT_EQ(find_indexed_row<Arm>(tables, kFunctions), by_stack(2, -1));
  EXPECT_EQ(find_indexed_row<Arm>(tables, kFunctions + kFunctionBytes - 1), by_stack(2, -1));
  EXPECT_EQ(indexed_function_of(tables, kFunctions + 3 * kFunctionBytes + 5), kFunctions + 3 * kFunctionBytes);
  EXPECT_EQ(indexed_function_of(tables, kFunctions - 1), 0u);
}

TEST(ExceptionIndex, AnIndexOutsideOfItsTablesHasNoRows) {
  const Index index({0x80a8b0b0, 0x80a8b0b0});
  CfiTables tables = index.tables();
  tables.header_bytes = 0;
  EXPECT_EQ(find_indexed_row<Arm>(tables, kFunctions), kNoTable);
  tables.header_bytes = UINT64_MAX;  // no more than there is
  EXPECT_EQ(find_indexed_row<Arm>(tables, kFunctions), by_stack(2, -1));
  tables.header = 0;
  EXPECT_EQ(find_indexed_row<Arm>(tables, kFunctions), kNoTable);
  tables.header = kIndex + (1 << 20);
  EXPECT_EQ(find_indexed_row<Arm>(tables, kFunctions), kNoTable);
}

TEST(ExceptionIndex, OfAnInterruptedInstructionItSaysNothing) {
  const Index index({0x80a8b0b0});
  EXPECT_EQ(find_loaded_row<Arm>(index.tables(), kFunctions + 8), by_stack(2, -1));
  EXPECT_EQ(find_loaded_row<Arm>(index.tables(), (kFunctions + 8) | wire::kCodeExact), kNoTable);
  EXPECT_EQ(find_loaded_function<Arm>(index.tables(), kFunctions + 8), kFunctions);
}

}  // namespace
}  // namespace heaptap::unwind
