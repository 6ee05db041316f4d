// Locations of the parts of a log's shared memory, as made by the collector. The header in that memory has them too,
// but the program can overwrite it: this side never reads them again.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

#include "common/wire/labels.h"
#include "common/wire/log.h"
#include "common/wire/totals.h"

namespace heaptap::log {

struct TotalsParts {
  wire::TotalsHeader* header = nullptr;  // null: no totals
  std::span<const wire::TotalsThread> threads;
  std::span<const wire::TotalsEntry> entries;
  std::span<const wire::TotalsRare> rare;
  std::span<const std::atomic<uint8_t>> pages;
  std::span<const wire::BlockLine> lines;
};

struct LogParts {
  // Reads the header of a newly made log, before another process has its memory.
  explicit LogParts(wire::LogHeader& log);

  wire::LogHeader& header;
  uint32_t flags;             // wire::SessionFlag
  bool omits;                 // some callers' events aren't recorded
  bool writers_wait;          // where the log is full
  uint32_t overflow_wait_ms;  // maximum
  uint32_t start_chunks;      // usable from the start
  uint32_t start_nodes;       // likewise
  uint32_t depth_limit;       // 0: not requested
  std::span<wire::StreamSlot> slots;
  std::span<const uint8_t> modules;
  std::span<const wire::CodeEntry> codes;
  std::span<const wire::StackNode> nodes;
  std::span<const wire::StackAreaEntry> stack_areas;
  std::span<const wire::OwnArea> own_areas;
  std::span<const wire::LabelEntry> labels;
  std::span<uint8_t> late_rows;
  std::span<uint8_t> chunks;
  TotalsParts totals;

  [[nodiscard]] uint32_t chunk_count() const { return static_cast<uint32_t>(chunks.size() / wire::kChunkBytes); }
};

}  // namespace heaptap::log
