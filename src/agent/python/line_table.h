// Line of an instruction, from a code object's table. The bytes are the program's: nothing outside of them is read, and a damaged table
// gives a wrong line at worst.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/python/layout.h"

namespace heaptap::agent::python {

// A number, 6 bits a byte, the lowest ones first. Advances `at`, at most to the end.
inline uint32_t read_number(const uint8_t* table, size_t bytes, size_t& at) {
  uint32_t value = 0;
  for (unsigned shift = 0; at < bytes; shift += 6) {
    const uint8_t byte = table[at++];
    if (shift < 32) value |= (byte & 0x3fu) << shift;
    if ((byte & 0x40u) == 0) break;
  }
  return value;
}

inline int32_t read_signed_number(const uint8_t* table, size_t bytes, size_t& at) {
  const uint32_t value = read_number(table, bytes, at);
  const auto half = static_cast<int32_t>(value >> 1);
  return (value & 1) != 0 ? -half : half;
}

// Entries begin with a byte whose highest bit is set, which has the form and the length; other bytes don't have it.
inline uint32_t line_by_locations(const uint8_t* table, size_t bytes, uint32_t first_line, uint32_t position) {
  constexpr unsigned kFirstOneLine = 10;  // the forms 10, 11 and 12 are 0, 1 and 2 lines further
  constexpr unsigned kWithoutColumns = 13;
  constexpr unsigned kLong = 14;
  constexpr unsigned kNoLine = 15;
  constexpr uint32_t kUnitBytes = 2;
  uint32_t line = first_line;
  uint32_t known = first_line;
  uint32_t end = 0;
  for (size_t at = 0; at < bytes;) {
    const uint8_t head = table[at++];
    const unsigned form = (head >> 3) & 0xfu;
    if (form == kWithoutColumns || form == kLong) {
      line += static_cast<uint32_t>(read_signed_number(table, bytes, at));
    } else if (form >= kFirstOneLine && form < kWithoutColumns) {
      line += form - kFirstOneLine;
    }
    if (form != kNoLine) known = line;
    end += ((head & 7u) + 1) * kUnitBytes;
    if (position < end) break;
    while (at < bytes && (table[at] & 0x80u) == 0) ++at;
  }
  return known;
}

inline uint32_t line_by_ranges(const uint8_t* table, size_t bytes, uint32_t first_line, uint32_t position) {
  constexpr int8_t kNoLine = -128;
  uint32_t line = first_line;
  uint32_t end = 0;
  for (size_t at = 0; at + 1 < bytes; at += 2) {
    const auto change = static_cast<int8_t>(table[at + 1]);
    if (change != kNoLine) line += static_cast<uint32_t>(int32_t{change});
    end += table[at];
    if (position < end) break;
  }
  return line;
}

inline uint32_t line_by_increments(const uint8_t* table, size_t bytes, uint32_t first_line, uint32_t position) {
  uint32_t line = first_line;
  uint32_t begin = 0;
  for (size_t at = 0; at + 1 < bytes; at += 2) {
    begin += table[at];
    if (begin > position) break;
    line += static_cast<uint32_t>(int32_t{static_cast<int8_t>(table[at + 1])});
  }
  return line;
}

// `position`: of the instruction in the code, in bytes; negative: before the first one.
inline uint32_t line_of(LineTable kind, const uint8_t* table, size_t bytes, uint32_t first_line, int64_t position) {
  if (position < 0) return first_line;
  const auto at = static_cast<uint32_t>(position < UINT32_MAX ? position : UINT32_MAX);
  if (kind == LineTable::kLocations) return line_by_locations(table, bytes, first_line, at);
  if (kind == LineTable::kRanges) return line_by_ranges(table, bytes, first_line, at);
  return line_by_increments(table, bytes, first_line, at);
}

}  // namespace heaptap::agent::python
