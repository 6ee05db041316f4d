#include "capture/log/log_parts.h"

#include <algorithm>

#include "common/base/sizes.h"

namespace heaptap::log {
namespace {

template <typename T>
std::span<T> part(wire::LogHeader& log, uint64_t offset, uint64_t count) {
  return {reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(&log) + offset), base::size_of_known(count)};
}

TotalsParts totals_of(wire::LogHeader& log) {
  if (log.totals_offset == 0) return {};
  wire::TotalsHeader* const totals = part<wire::TotalsHeader>(log, log.totals_offset, 1).data();
  const uint64_t entries = totals->entry_capacity;
  const uint64_t lines = totals->line_count;
  return {.header = totals,
          .threads = part<const wire::TotalsThread>(log, totals->threads_offset, wire::kOwnThreads),
          .entries = part<const wire::TotalsEntry>(log, totals->entries_offset, entries),
          .rare = part<const wire::TotalsRare>(log, totals->rare_offset, entries),
          .pages = part<const std::atomic<uint8_t>>(log, totals->pages_offset, wire::page_count(lines)),
          .lines = part<const wire::BlockLine>(log, totals->lines_offset, lines)};
}

}  // namespace

LogParts::LogParts(wire::LogHeader& log)
    : header(log),
      flags(log.flags),
      omits(log.omitted_objects[0] != '\0'),
      writers_wait(log.overflow_policy == wire::OverflowPolicy::kWait),
      overflow_wait_ms(log.overflow_wait_ms),
      start_chunks(std::min(log.start_chunks, log.chunk_count)),
      start_nodes(std::min(log.start_nodes, log.node_capacity)),
      depth_limit(log.depth_limit),
      slots(part<wire::StreamSlot>(log, log.slots_offset, log.slot_count)),
      modules(part<const uint8_t>(log, log.modules_offset, log.modules_capacity)),
      codes(part<const wire::CodeEntry>(log, log.codes_offset, log.code_capacity)),
      nodes(part<const wire::StackNode>(log, log.nodes_offset, log.node_capacity)),
      stack_areas(part<const wire::StackAreaEntry>(log, log.stack_areas_offset, log.stack_area_capacity)),
      own_areas(part<const wire::OwnArea>(log, log.own_areas_offset, log.own_area_capacity)),
      labels(part<const wire::LabelEntry>(log, log.labels_offset, log.label_capacity)),
      late_rows(part<uint8_t>(log, log.late_rows_offset, log.late_rows_capacity)),
      chunks(part<uint8_t>(log, log.chunks_offset, uint64_t{log.chunk_count} * wire::kChunkBytes)),
      totals(totals_of(log)) {}

}  // namespace heaptap::log
