// Retained size of groups of blocks: of a stack, of a type, or of a variable.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/leaks/classify.h"
#include "analysis/leaks/dominators.h"
#include "common/model/heap_scan.h"

namespace heaptap::leaks {

struct GroupTotal {
  BlockTotal own;       // the group's reachable blocks
  BlockTotal retained;  // blocks they dominate, each counted once
};

// `groups` is each block's group, below `count`. Blocks held only by several blocks of a group together are retained by none of
// them, so they aren't in the sum.
[[nodiscard]] std::vector<GroupTotal> retained_by_groups(const model::HeapScan& scan, const Dominators& dominators,
                                                         std::span<const uint32_t> groups, uint32_t count);

inline constexpr uint32_t kNoGroup = 0xffffffff;

struct RootGroups {
  std::vector<BlockTotal> retained;  // by group: blocks to which every path from the roots leads through it
  std::vector<BlockTotal>
      sharing;  // by group: blocks that it leads to and that no group retains; of many groups with one block some
  std::vector<uint32_t> of_blocks;  // by block the group that retains it; kNoGroup: none
};

// `groups` is each root pointer's group, or kNoGroup.
[[nodiscard]] RootGroups retained_by_roots(const model::HeapScan& scan, std::span<const uint32_t> groups,
                                           uint32_t count, const LeakOptions& options = {});

}  // namespace heaptap::leaks
