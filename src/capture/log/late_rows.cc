#include "capture/log/late_rows.h"

#include <algorithm>
#include <cstring>

#include "common/wire/late_rows.h"

namespace heaptap::log {

namespace {

uint64_t key_of(std::string_view build_id) {
  return wire::late_rows_key(reinterpret_cast<const uint8_t*>(build_id.data()), build_id.size());
}

}  // namespace

bool LateRowsWriter::has(std::string_view build_id) const {
  return std::ranges::find(added_, key_of(build_id)) != added_.end();
}

bool LateRowsWriter::add(std::string_view build_id, const model::RowTable& rows, uint64_t left_bytes) {
  const uint64_t key = key_of(build_id);
  if (rows.empty() || key == 0 || std::ranges::find(added_, key) != added_.end()) return true;
  const uint64_t bytes = wire::late_rows_bytes(rows.begins.size());
  if (bytes > room_bytes() || room_bytes() - bytes < left_bytes || used_bytes_ + bytes > UINT32_MAX) return false;
  uint8_t* const at = log_.late_rows.data() + used_bytes_;
  const wire::LateRowsHead head{key, rows.base, static_cast<uint32_t>(rows.begins.size()), 0};
  std::memcpy(at, &head, sizeof(head));
  std::memcpy(at + sizeof(head), rows.begins.data(), rows.begins.size() * sizeof(uint32_t));
  std::memcpy(at + bytes - rows.rows.size() * sizeof(uint64_t), rows.rows.data(), rows.rows.size() * sizeof(uint64_t));
  used_bytes_ += bytes;
  added_.push_back(key);
  log_.header.late_rows_bytes.store(static_cast<uint32_t>(used_bytes_),
                                    std::memory_order_release);  // pairs with LateRowsReader::reach()
  return true;
}

std::vector<uint64_t> LateRowsWriter::take_misses() {
  std::vector<uint64_t> misses;
  const uint32_t count = std::min(log_.header.row_miss_count.load(std::memory_order_relaxed), wire::kMaxRowMisses);
  while (taken_misses_ < count) {
    const uint64_t entry = log_.header.row_misses[taken_misses_].load(std::memory_order_acquire);
    if (entry == 0) break;  // claimed, not written yet
    misses.push_back(entry);
    ++taken_misses_;
  }
  return misses;
}

}  // namespace heaptap::log
