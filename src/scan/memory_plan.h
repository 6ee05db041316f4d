// Which memory a scan reads, in which order, so that each piece is read once. Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/heap_scan.h"
#include "scan/memory_reader.h"

namespace heaptap::scan {

struct MemoryPlan {
  std::vector<base::AddressRange> pieces;  // ascending, from word to word
  uint64_t skipped_bytes = 0;              // untouched
};

// The memory of the blocks. Small gaps between them are read too: that is faster than to begin anew.
[[nodiscard]] MemoryPlan plan_blocks(std::span<const model::ScannedBlock> blocks, unsigned word_bytes,
                                     MemoryReader& reader);

// A range of roots. Where `without_blocks` is set, large blocks are cut out (they were read as blocks).
[[nodiscard]] MemoryPlan plan_range(base::AddressRange range, bool without_blocks,
                                    std::span<const model::ScannedBlock> blocks, unsigned word_bytes,
                                    MemoryReader& reader);

}  // namespace heaptap::scan
