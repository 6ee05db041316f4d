// What goes when several things go at once: all blocks of a stack or a type, or all that one variable holds.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "leaks/classify.h"
#include "leaks/dominators.h"
#include "model/heap_scan.h"

namespace heaptap::leaks {

struct GroupTotal {
  BlockTotal own;       // the group's blocks that are held
  BlockTotal retained;  // what they dominate, each block once
};

// `groups` gives each block's group, smaller than `count`. What only several blocks of a group hold together is not retained
// by any of them, so it isn't in the sum.
[[nodiscard]] std::vector<GroupTotal> retained_by_groups(const model::HeapScan& scan, const Dominators& dominators,
                                                         std::span<const uint32_t> groups, uint32_t count);

inline constexpr uint32_t kNoGroup = 0xffffffff;

// `groups` gives each root pointer's group, or kNoGroup. A group retains what every way from the roots to leads through it.
[[nodiscard]] std::vector<BlockTotal> retained_by_roots(const model::HeapScan& scan, std::span<const uint32_t> groups,
                                                        uint32_t count, const LeakOptions& options = {});

}  // namespace heaptap::leaks
