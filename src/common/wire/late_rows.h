// Late rows: unwind rows from elsewhere, for objects that have none where they are loaded, added while a program is recorded. They lie in
// the log, written by the collector, read by the agent or tracer that walks the program's stacks. Freestanding; native byte order.
//
//   ┌ LateRowsHead ┬ begins: u32[count], padded to 8 ┬ rows: u64[count] ┬ LateRowsHead ┬ … up to LogHeader::late_rows_bytes ┐
//
// The program can overwrite all of it: a reader checks what it uses, and the walk checks each address that a row leads to.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/wire/log.h"

namespace heaptap::wire {

struct LateRowsHead {
  uint64_t object;  // key of the object's build-id
  uint64_t base;    // link-time address that the begins count from
  uint32_t count;
  uint32_t reserved;
};
static_assert(sizeof(LateRowsHead) == 24);

constexpr uint64_t late_rows_bytes(uint64_t count) {
  return sizeof(LateRowsHead) + ((count * sizeof(uint32_t) + 7) & ~uint64_t{7}) + count * sizeof(uint64_t);
}

// Key of an object: a hash (FNV-1a) of its build-id. 0: it has none.
constexpr uint64_t late_rows_key(const uint8_t* build_id, size_t bytes) {
  if (bytes == 0) return 0;
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ build_id[i]) * 1099511628211u;
  return hash != 0 ? hash : 1;
}

// Rows of one object, as laid out in the log.
struct LateRows {
  const uint8_t* begins = nullptr;
  const uint8_t* rows = nullptr;
  uint32_t count = 0;  // 0: no rows
  uint64_t base = 0;

  // The row of a link-time address, as a word of unwind::Row. 0: none.
  [[nodiscard]] uint64_t row_at(uint64_t address) const {
    const uint64_t offset = address - base;
    if (count == 0 || address < base || offset > UINT32_MAX || offset < begin_at(0)) return 0;
    uint32_t low = 0;
    for (uint32_t high = count; high - low > 1;) {
      const uint32_t middle = low + (high - low) / 2;
      (begin_at(middle) <= offset ? low : high) = middle;
    }
    uint64_t row;
    __builtin_memcpy(&row, rows + size_t{low} * sizeof(row), sizeof(row));
    return row;
  }

 private:
  [[nodiscard]] uint32_t begin_at(uint32_t index) const {
    uint32_t begin;
    __builtin_memcpy(&begin, begins + size_t{index} * sizeof(begin), sizeof(begin));
    return begin;
  }
};

// Reader of the late rows in a log.
class LateRowsReader {
 public:
  constexpr LateRowsReader() = default;
  LateRowsReader(const LogHeader& log, const LogLayout& layout)
      : log_(&log),
        start_(reinterpret_cast<const uint8_t*>(&log) + layout.late_rows_offset),
        capacity_(layout.late_rows_capacity) {}

  // Whether objects may get rows while they are recorded.
  [[nodiscard]] bool are_possible() const { return capacity_ != 0; }
  // Number of bytes written so far. If it grew, more objects have rows.
  [[nodiscard]] uint32_t reach() const {
    return capacity_ != 0 ? log_->late_rows_bytes.load(std::memory_order_acquire) : 0;  // pairs with the collector
  }

  [[nodiscard]] LateRows find(uint64_t object) const {
    const uint64_t said = reach();
    const uint64_t end = said <= capacity_ ? said : 0;
    for (uint64_t at = 0; at < end && end - at >= sizeof(LateRowsHead);) {
      LateRowsHead head;
      __builtin_memcpy(&head, start_ + at, sizeof(head));
      const uint64_t bytes = late_rows_bytes(head.count);
      if (bytes > end - at) break;
      if (head.object == object && object != 0) {
        const uint8_t* const begins = start_ + at + sizeof(head);
        return {begins, start_ + at + bytes - uint64_t{head.count} * sizeof(uint64_t), head.count, head.base};
      }
      at += bytes;
    }
    return {};
  }

 private:
  const LogHeader* log_ = nullptr;
  const uint8_t* start_ = nullptr;
  uint64_t capacity_ = 0;
};

// Reports code without a row to the collector, by its code entry: once per object, as far as the table has room.
inline void note_row_miss(LogHeader& log, uint64_t entry) {
  const uint32_t index = claim_entry(log.row_miss_count, kMaxRowMisses);
  if (index != kNoEntry) log.row_misses[index].store(entry, std::memory_order_release);  // pairs with the collector
}

}  // namespace heaptap::wire
