// Unwind rows of one object, made on one machine and used on another: by link-time address, sorted, each valid up to
// the next one's start. A row is the word of unwind::Row; 0 where the object has none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heaptap::model {

// In place of an address without a row: the object has no table where it is loaded, so no address has a row.
inline constexpr uint64_t kNoRowAnywhere = UINT64_MAX;

struct RowTable {
  static constexpr size_t kMaxRows = size_t{1} << 20;

  uint64_t base = 0;             // link-time address that offsets are relative to
  std::vector<uint32_t> begins;  // ascending
  std::vector<uint64_t> rows;    // as many

  [[nodiscard]] bool empty() const { return begins.empty(); }
  // Appends a row; `begin` must not be below the last one, nor 4 GiB above the base. False: invalid.
  bool add(uint64_t begin, uint64_t row);
  // 0: unknown.
  [[nodiscard]] uint64_t row_at(uint64_t address) const;
};

// Format: base, count, then for each row: distance from the previous one (varint), row (varint).
std::vector<uint8_t> encode(const RowTable& table);
// None: damaged, or more rows than the maximum.
std::optional<RowTable> decode_rows(std::span<const uint8_t> bytes);

}  // namespace heaptap::model
