// Validation of a log's layout: whether all parts lie within its memory, checked before use. Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/wire/exit_handshake.h"
#include "common/wire/labels.h"
#include "common/wire/log.h"
#include "common/wire/totals.h"

namespace heaptap::wire {

// Whether `count` items of `each` bytes from `offset` on lie within `bytes`.
constexpr bool part_fits(uint64_t offset, uint64_t count, uint64_t each, uint64_t bytes) {
  return offset <= bytes && (each == 0 || count <= (bytes - offset) / each);
}

constexpr bool totals_are_sound(const TotalsLayout& totals, size_t bytes) {
  return totals.entry_capacity >= kFunctionCount && totals.entry_capacity <= kMaxEntries &&
         totals.line_count >= kFewestLines &&
         part_fits(totals.threads_offset, kOwnThreads, sizeof(TotalsThread), bytes) &&
         part_fits(totals.entries_offset, totals.entry_capacity, sizeof(TotalsEntry), bytes) &&
         part_fits(totals.rare_offset, totals.entry_capacity, sizeof(TotalsRare), bytes) &&
         part_fits(totals.pages_offset, page_count(totals.line_count), 1, bytes) &&
         part_fits(totals.lines_offset, totals.line_count, sizeof(BlockLine), bytes);
}

// `bytes`: size of the log's memory.
constexpr bool layout_is_sound(const LogLayout& log, size_t bytes) {
  const uint32_t areas = log.stack_area_capacity;
  return log.magic == kLogMagic && log.version == kLogVersion && log.total_bytes == bytes && log.slot_count > 0 &&
         log.start_chunks <= log.chunk_count &&
         log.nodes_offset >= log.chunks_offset + uint64_t{log.chunk_count} * kChunkBytes &&
         part_fits(log.slots_offset, log.slot_count, sizeof(StreamSlot), bytes) &&
         part_fits(log.modules_offset, log.modules_capacity, 1, bytes) &&
         part_fits(log.codes_offset, log.code_capacity, sizeof(CodeEntry), bytes) &&
         part_fits(log.nodes_offset, log.node_capacity, sizeof(StackNode), bytes) &&
         log.start_nodes <= log.node_capacity && log.start_nodes > kRootCount && areas > 0 &&
         (areas & (areas - 1)) == 0 && part_fits(log.stack_areas_offset, areas, sizeof(StackAreaEntry), bytes) &&
         log.label_capacity <= kMaxLabels && log.labels_offset % alignof(LabelEntry) == 0 &&
         part_fits(log.labels_offset, log.label_capacity, sizeof(LabelEntry), bytes) &&
         part_fits(log.late_rows_offset, log.late_rows_capacity, 1, bytes) &&
         part_fits(log.own_areas_offset, log.own_area_capacity, sizeof(OwnArea), bytes) &&
         part_fits(log.chunks_offset, log.chunk_count, kChunkBytes, bytes) &&
         log.sample_interval <= kMaxSampleInterval &&
         (log.totals_offset == 0 || part_fits(log.totals_offset, 1, sizeof(TotalsHeader), bytes));
}

// Checked copy of the layout in shared memory, which may be written at any moment: only checked values are used.
struct CheckedLayout {
  LogLayout log;
  TotalsLayout totals;  // zeros where there are none
};

// False: invalid layout. `bytes`: size of the memory that begins with the header, at least the header's own.
inline bool copy_layout(const LogHeader& log, size_t bytes, CheckedLayout& copy) {
  copy = {static_cast<const LogLayout&>(log), {}};
  __asm__ volatile("" : : "r"(&copy) : "memory");  // prevents a second read
  if (!layout_is_sound(copy.log, bytes)) return false;
  if (copy.log.totals_offset == 0) return true;
  const uint8_t* const totals = reinterpret_cast<const uint8_t*>(&log) + copy.log.totals_offset;
  copy.totals = *reinterpret_cast<const TotalsLayout*>(totals);
  __asm__ volatile("" : : "r"(&copy) : "memory");
  return totals_are_sound(copy.totals, bytes);
}

}  // namespace heaptap::wire
