#include "common/model/row_table.h"

#include <algorithm>

#include "common/wire/varint.h"

namespace heaptap::model {
namespace {

void put(std::vector<uint8_t>& to, uint64_t value) {
  uint8_t coded[wire::kMaxVarintBytes];
  to.insert(to.end(), coded, wire::write_varint(coded, value));
}

}  // namespace

bool RowTable::add(uint64_t begin, uint64_t row) {
  if (begins.empty()) base = begin;
  if (begin < base || begin - base > UINT32_MAX || begins.size() == kMaxRows) return false;
  const auto offset = static_cast<uint32_t>(begin - base);
  if (!begins.empty() && offset < begins.back()) return false;
  if (!begins.empty() && offset == begins.back()) {  // the later one counts
    rows.back() = row;
    return true;
  }
  if (!rows.empty() && rows.back() == row) return true;
  begins.push_back(offset);
  rows.push_back(row);
  return true;
}

uint64_t RowTable::row_at(uint64_t address) const {
  if (begins.empty() || address < base || address - base > UINT32_MAX) return 0;
  const auto behind = std::ranges::upper_bound(begins, static_cast<uint32_t>(address - base));
  return behind == begins.begin() ? 0 : rows[static_cast<size_t>(behind - begins.begin()) - 1];
}

std::vector<uint8_t> encode(const RowTable& table) {
  std::vector<uint8_t> bytes;
  put(bytes, table.base);
  put(bytes, table.begins.size());
  uint32_t before = 0;
  for (size_t i = 0; i < table.begins.size(); ++i) {
    put(bytes, table.begins[i] - before);
    put(bytes, table.rows[i]);
    before = table.begins[i];
  }
  return bytes;
}

std::optional<RowTable> decode_rows(std::span<const uint8_t> bytes) {
  wire::VarintReader in(bytes.data(), bytes.size());
  RowTable table;
  table.base = in.varint();
  constexpr size_t kLeastRowBytes = 2;
  const size_t count = in.entry_count(kLeastRowBytes);
  if (!in.ok() || count > RowTable::kMaxRows) return std::nullopt;
  table.begins.reserve(count);
  table.rows.reserve(count);
  uint64_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t distance = in.varint();
    const uint64_t row = in.varint();
    if (!in.ok() || distance > UINT32_MAX || (i > 0 && distance == 0)) return std::nullopt;
    offset += distance;
    if (offset > UINT32_MAX) return std::nullopt;
    table.begins.push_back(static_cast<uint32_t>(offset));
    table.rows.push_back(row);
  }
  if (!in.at_end()) return std::nullopt;
  return table;
}

}  // namespace heaptap::model
