// The stacks of a report merged into one tree: from the first callers down, or from the allocating functions up.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "report/report.h"

namespace heaptap::report {

// What the tree's branches are weighed by.
enum class Weight { kLiveBytes, kPeakBytes, kAllocatedBytes, kAllocations };

struct TreeNode {
  FrameIndex frame = kNoFrame;  // kNoFrame: the root, or the function that was called
  std::string function;         // that was called: malloc, …; empty of other nodes
  uint64_t weight = 0;          // of all stacks through this node
  uint64_t allocations = 0;
  uint64_t live_blocks = 0;
  std::vector<TreeNode> children;  // heaviest first
};

// By what the stacks are sorted; where that is live bytes and nothing is alive, by what they held at the peak.
Weight choose_weight(const Report& report);
const char* name_of(Weight weight);  // "live_bytes", …

// Mappings are left out. Of each stack as many frames, from the allocation on, as `depth_of` says.
TreeNode build_tree(const Report& report, Weight weight, bool bottom_up,
                    const std::function<size_t(const FrameList&)>& depth_of);

}  // namespace heaptap::report
