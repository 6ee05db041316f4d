// What would go with a block: block A dominates block B if every way from the roots to B leads through A. The retained size of
// a block is that of all the blocks that it dominates, itself included. Lengauer and Tarjan, "A fast algorithm for finding
// dominators in a flowgraph" (1979), in its O(m log n) form, without recursion.
#pragma once
#include <cstdint>
#include <vector>

#include "leaks/classify.h"
#include "model/heap_scan.h"

namespace heaptap::leaks {

struct Dominators {
  // Of each block the block that dominates it and is next to it; model::kNoBlock: only the roots together do, or it isn't held.
  std::vector<uint32_t> parents;
  std::vector<uint64_t> retained_bytes;   // 0 of blocks that aren't held
  std::vector<uint32_t> retained_blocks;  // itself included; 0 of blocks that aren't held
};

// All pointers count, certain or not: what a block may hold, it may retain.
[[nodiscard]] Dominators find_dominators(const model::HeapScan& scan, const LeakOptions& options = {});

}  // namespace heaptap::leaks
