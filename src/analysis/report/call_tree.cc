#include "analysis/report/call_tree.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace heaptap::report {
namespace {

// Identity of a node: the same function at the same place.
using FrameKey = std::tuple<std::string_view, std::string_view, std::string_view, uint64_t>;

FrameKey key_of(const model::Frame& frame) {
  if (frame.file.empty()) {
    return {frame.function, frame.module, "", frame.module.empty() ? frame.address : frame.offset};
  }
  return {frame.function, frame.module, frame.file, frame.line};
}

// Node index of the tree under construction: children by key.
struct Divergence {
  FrameIndex frame = kNoFrame;
  const std::string* function = nullptr;  // the called one
  uint64_t weight = 0;
  uint64_t allocations = 0;
  uint64_t live_blocks = 0;
  std::map<FrameKey, Divergence> children;
};

uint64_t weight_of(const StackEntry& stack, Weight weight) {
  switch (weight) {
    case Weight::kLiveBytes:
      return stack.live_bytes.counted();
    case Weight::kPeakBytes:
      return stack.peak_bytes.counted();
    case Weight::kAllocatedBytes:
      return stack.allocated_bytes.counted();
    case Weight::kAllocations:
      return stack.allocations.counted();
    case Weight::kTemporary:
      return stack.temporary_allocations.counted();
  }
  return 0;
}

void grow(Divergence& branch, const StackEntry& stack, uint64_t weight) {
  branch.weight += weight;
  branch.allocations += stack.allocations.counted();
  branch.live_blocks += stack.live_blocks.counted();
}

TreeNode finish(const Divergence& branch) {
  TreeNode node{.frame = branch.frame,
                .function = branch.function == nullptr ? "" : *branch.function,
                .weight = branch.weight,
                .allocations = branch.allocations,
                .live_blocks = branch.live_blocks,
                .children = {}};
  for (const auto& [key, child] : branch.children) {
    node.children.push_back(finish(child));
  }
  std::stable_sort(node.children.begin(), node.children.end(), [](const TreeNode& a, const TreeNode& b) {
    return std::pair(a.weight, a.allocations) > std::pair(b.weight, b.allocations);
  });
  return node;
}

}  // namespace

Weight choose_weight(const Report& report) {
  if (report.sort_key == "allocations") {
    return Weight::kAllocations;
  }
  if (report.sort_key == "total" || report.sort_key == "average") {
    return Weight::kAllocatedBytes;
  }
  if (report.sort_key == "temporary") {
    return Weight::kTemporary;
  }
  if (!report.has_events) {
    return report.totals.live_bytes.if_known().value_or(0) != 0 ? Weight::kLiveBytes : Weight::kAllocatedBytes;
  }
  if (report.sort_key == "peak") {
    return Weight::kPeakBytes;
  }
  return report.totals.live_bytes.counted() != 0 ? Weight::kLiveBytes : Weight::kPeakBytes;
}

const char* name_of(Weight weight) {
  switch (weight) {
    case Weight::kLiveBytes:
      return "live_bytes";
    case Weight::kPeakBytes:
      return "peak_bytes";
    case Weight::kAllocatedBytes:
      return "allocated_bytes";
    case Weight::kAllocations:
      return "allocations";
    case Weight::kTemporary:
      return "temporary_allocations";
  }
  return "";
}

TreeNode build_tree(const Report& report, Weight weight, bool bottom_up,
                    const std::function<size_t(const FrameList&)>& depth_of) {
  Divergence root;
  for (const StackEntry& stack : report.stacks) {
    const uint64_t value = weight_of(stack, weight);
    if (stack.is_apart() || value == 0) {
      continue;
    }
    const size_t frames = depth_of(report.list(stack.frames));
    Divergence* branch = &root;
    grow(root, stack, value);
    for (size_t step = 0; step <= frames; ++step) {
      const size_t place = bottom_up ? step : frames - step;  // 0: the called function, below it its callers
      if (place == 0) {
        branch = &branch->children[{stack.function, "", "", 0}];
        branch->function = &stack.function;
      } else {
        const FrameIndex frame = stack.frames[place - 1];
        branch = &branch->children[key_of(report.frames[frame])];
        branch->frame = frame;
      }
      grow(*branch, stack, value);
    }
  }
  return finish(root);
}

}  // namespace heaptap::report
