// Call tree of a report: its stacks merged, top-down from the outermost callers or bottom-up from the allocating functions.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::report {

// Measure that weighs the tree's branches.
enum class Weight { kLiveBytes, kPeakBytes, kAllocatedBytes, kAllocations, kTemporary };

struct TreeNode {
  FrameIndex frame = kNoFrame;  // kNoFrame: the root, or the allocation function
  std::string function;         // the allocation function (malloc, …); empty for other nodes
  uint64_t weight = 0;          // of all stacks through this node
  uint64_t allocations = 0;
  uint64_t live_blocks = 0;
  std::vector<TreeNode> children;  // heaviest first
};

// The stacks' sort key; peak bytes if that is live bytes and nothing is live. Live bytes for a key that is no sum.
Weight choose_weight(const Report& report);
const char* name_of(Weight weight);  // "live_bytes", …

// Mappings are left out. `depth_of` gives the number of frames to use of a stack, from the allocation outwards.
TreeNode build_tree(const Report& report, Weight weight, bool bottom_up,
                    const std::function<size_t(const FrameList&)>& depth_of);

}  // namespace heaptap::report
