// Read plan of a scan: the memory to read, ordered so that each piece is read once. Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "capture/scan/counted_memory.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

using MemoryPlan = std::vector<base::AddressRange>;  // ascending, word-aligned

// Plans the memory of the blocks. Includes small gaps between them: faster than separate reads.
[[nodiscard]] MemoryPlan plan_blocks(std::span<const model::ScannedBlock> blocks, unsigned word_bytes,
                                     CountedMemory& memory);

// Plans a range of roots. With `without_blocks`, excludes large blocks (already read as blocks).
[[nodiscard]] MemoryPlan plan_range(base::AddressRange range, bool without_blocks,
                                    std::span<const model::ScannedBlock> blocks, unsigned word_bytes,
                                    CountedMemory& memory);

}  // namespace heaptap::scan
