// Rows for unwinding of one object, as they are made on one machine and used on another: by link-time address, sorted, each row up
// to the next one's beginning. A row is the word of unwind::Row; 0 where the object says nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heaptap::model {

// In place of an address that has no row: the object has no table where it is loaded, and so none anywhere.
inline constexpr uint64_t kNoRowAnywhere = UINT64_MAX;

struct RowTable {
  static constexpr size_t kMaxRows = size_t{1} << 20;

  uint64_t base = 0;             // link-time address that offsets count from
  std::vector<uint32_t> begins;  // ascending
  std::vector<uint64_t> rows;    // as many

  [[nodiscard]] bool empty() const { return begins.empty(); }
  // Behind the last one; `begin` isn't below it, nor 4 GiB above the base. False: it doesn't fit.
  bool add(uint64_t begin, uint64_t row);
  // 0: nothing is known of this address.
  [[nodiscard]] uint64_t row_at(uint64_t address) const;
};

// base, count, then for each row: distance from the one before (varint), row (varint).
std::vector<uint8_t> encode(const RowTable& table);
// None: it is damaged, or has more rows than a table may have.
std::optional<RowTable> decode_rows(std::span<const uint8_t> bytes);

}  // namespace heaptap::model
