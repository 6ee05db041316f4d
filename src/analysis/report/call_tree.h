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

// Number of frames to use of a stack, from the allocation outwards.
using DepthOf = std::function<size_t(const FrameList&)>;

// From the outermost callers to the allocation functions. Mappings are left out.
TreeNode build_top_down_tree(const Report& report, Weight weight, const DepthOf& depth_of);
// From the allocation functions to their callers. A branch with less than this share of all weight has no children, unless it is the
// heaviest of its node.
TreeNode build_bottom_up_tree(const Report& report, Weight weight, double least_share, const DepthOf& depth_of);

}  // namespace heaptap::report
