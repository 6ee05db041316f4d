// Inverted call tree: stacks merged from their innermost frames outwards, callers below callees.
#pragma once
#include <cstdint>
#include <map>

#include "analysis/report/report.h"
#include "views/exports/metric.h"

namespace heaptap::exports {

struct FrameTree {
  uint64_t weight = 0;  // of all stacks through this node
  std::map<report::FrameIndex, FrameTree> callers;
};

inline FrameTree build_frame_tree(const report::Report& report, const Metric& metric) {
  FrameTree root;
  for (const report::StackEntry& stack : report.stacks) {
    const uint64_t weight = metric.of(stack).counted();
    if (stack.is_apart() || weight == 0) continue;
    FrameTree* node = &root;
    node->weight += weight;
    for (const report::FrameIndex frame : report.frames.indices(stack.frames)) {
      node = &node->callers[frame];
      node->weight += weight;
    }
  }
  return root;
}

}  // namespace heaptap::exports
