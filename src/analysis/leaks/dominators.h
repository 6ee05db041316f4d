// Dominators and retained sizes. Block A dominates block B if every path from the roots to B leads through A. A block's retained
// size is the sum over the blocks it dominates, itself included. Lengauer and Tarjan, "A fast algorithm for finding dominators in a
// flowgraph" (1979), in its O(m log n) form, without recursion.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/leaks/classify.h"
#include "common/model/heap_scan.h"

namespace heaptap::leaks {

struct Dominators {
  // Immediate dominator of each block; model::kNoBlock: dominated by no single block, or not reachable.
  std::vector<uint32_t> parents;
  std::vector<uint64_t> retained_bytes;   // 0 of unreachable blocks
  std::vector<uint32_t> retained_blocks;  // itself included; 0 of unreachable blocks
};

// All pointers count, certain or not: a block retains whatever it may hold.
[[nodiscard]] Dominators find_dominators(const model::HeapScan& scan, const LeakOptions& options = {});

}  // namespace heaptap::leaks
