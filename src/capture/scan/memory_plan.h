// Read plan of a scan: the memory to read, ordered so that each piece is read once. Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "capture/scan/memory_reader.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

struct MemoryPlan {
  std::vector<base::AddressRange> pieces;  // ascending, word-aligned
  uint64_t skipped_bytes = 0;              // untouched
};

// Plans the memory of the blocks. Includes small gaps between them: faster than separate reads.
[[nodiscard]] MemoryPlan plan_blocks(std::span<const model::ScannedBlock> blocks, unsigned word_bytes,
                                     MemoryReader& reader);

// Plans a range of roots. With `without_blocks`, excludes large blocks (already read as blocks).
[[nodiscard]] MemoryPlan plan_range(base::AddressRange range, bool without_blocks,
                                    std::span<const model::ScannedBlock> blocks, unsigned word_bytes,
                                    MemoryReader& reader);

}  // namespace heaptap::scan
