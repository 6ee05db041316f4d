#include "analysis/report/call_tree.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/report/path_values.h"

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

struct Sums {
  uint64_t weight = 0;
  uint64_t allocations = 0;
  uint64_t live_blocks = 0;

  Sums& operator+=(const Sums& other) {
    weight += other.weight;
    allocations += other.allocations;
    live_blocks += other.live_blocks;
    return *this;
  }
};

// Numbers of places in the program.
class Places {
 public:
  explicit Places(const FrameTable& frames) : frames_(frames), of_frame_(frames.size(), kNone) {}

  uint32_t of(FrameIndex frame) {
    uint32_t& place = of_frame_[frame];
    if (place == kNone) place = number_of(key_of(frames_[frame]));
    return place;
  }
  uint32_t of_function(const std::string& function) { return number_of({function, "", "", 0}); }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint32_t number_of(const FrameKey& key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }

  const FrameTable& frames_;
  std::map<FrameKey, uint32_t> numbers_;
  std::vector<uint32_t> of_frame_;
};

TreeNode make_node(FrameIndex frame, const std::string* function, const Sums& sums) {
  return {.frame = frame,
          .function = function == nullptr ? "" : *function,
          .weight = sums.weight,
          .allocations = sums.allocations,
          .live_blocks = sums.live_blocks,
          .children = {}};
}

// Heaviest first.
auto order_of(const Report& report, FrameIndex frame, const std::string* function, const Sums& sums) {
  const FrameKey key = function != nullptr ? FrameKey{*function, "", "", 0} : key_of(report.frames[frame]);
  return std::tuple(~sums.weight, ~sums.allocations, key);
}

class TopDownTree {
 public:
  explicit TopDownTree(const Report& report)
      : report_(report), places_(report.frames), of_path_(report.frames.trie(), 0) {}

  // The innermost `frames` of the stack.
  void add(const StackEntry& stack, const Sums& sums, uint32_t frames) {
    uint32_t branch = of_path_(stack.frames.cut(frames), [this](uint32_t caller, FrameIndex frame) {
      return child(caller, places_.of(frame), {.frame = frame});
    });
    branch = child(branch, places_.of_function(stack.function), {.frame = kNoFrame, .function = &stack.function});
    branches_[branch].sums += sums;
  }

  TreeNode finish() {
    std::vector<std::vector<uint32_t>> children(branches_.size());
    for (uint32_t i = static_cast<uint32_t>(branches_.size()) - 1; i != 0; --i) {
      branches_[branches_[i].caller].sums += branches_[i].sums;
      children[branches_[i].caller].push_back(i);
    }
    return node_of(0, children);
  }

 private:
  struct Branch {
    FrameIndex frame = kNoFrame;
    const std::string* function = nullptr;  // the called one
    uint32_t caller = 0;                    // a smaller index
    Sums sums = {};
  };

  uint32_t child(uint32_t branch, uint32_t place, Branch content) {
    const auto [found, is_new] =
        children_.try_emplace(uint64_t{branch} << 32 | place, static_cast<uint32_t>(branches_.size()));
    if (is_new) {
      content.caller = branch;
      branches_.push_back(content);
    }
    return found->second;
  }

  TreeNode node_of(uint32_t index, std::vector<std::vector<uint32_t>>& children) {
    const Branch& branch = branches_[index];
    TreeNode node = make_node(branch.frame, branch.function, branch.sums);
    std::ranges::sort(children[index], {}, [this](uint32_t each) {
      return order_of(report_, branches_[each].frame, branches_[each].function, branches_[each].sums);
    });
    node.children.reserve(children[index].size());
    for (const uint32_t each : children[index]) node.children.push_back(node_of(each, children));
    return node;
  }

  const Report& report_;
  Places places_;
  std::vector<Branch> branches_ = std::vector<Branch>(1);
  boost::unordered_flat_map<uint64_t, uint32_t> children_;  // by branch and place
  PathValues<uint32_t> of_path_;                            // branches
};

// Branches share little there, so all of them would be as large as all stacks with all their frames: each is made from the stacks that
// go through it, and only where it is wanted.
class BottomUpTree {
 public:
  BottomUpTree(const Report& report, double least_share)
      : report_(report), least_share_(least_share), places_(report.frames) {}

  // The innermost `frames` of the stack.
  void add(const StackEntry& stack, const Sums& sums, uint32_t frames) {
    total_ += sums;
    stacks_.push_back({.function = &stack.function,
                       .caller = stack.frames.node,
                       .callers = stack.frames.cut(frames).size,
                       .place = places_.of_function(stack.function),
                       .sums = sums});
  }

  TreeNode finish() {
    TreeNode root = make_node(kNoFrame, nullptr, total_);
    root.children = children_of(stacks_);
    return root;
  }

 private:
  // A stack at a branch.
  struct Walk {
    const std::string* function = nullptr;  // null beyond the allocation function
    FrameIndex frame = kNoFrame;
    NodeIndex caller = kRootNode;
    uint32_t callers = 0;  // frames from there on
    uint32_t place = 0;    // of the branch
    Sums sums = {};
  };
  struct Group {
    std::span<Walk> walks;
    Sums sums = {};
  };

  std::vector<TreeNode> children_of(std::span<Walk> walks) {
    std::ranges::stable_sort(walks, {}, &Walk::place);
    std::vector<Group> groups;
    for (size_t at = 0; at < walks.size();) {
      Group group;
      size_t end = at;
      for (; end < walks.size() && walks[end].place == walks[at].place; ++end) group.sums += walks[end].sums;
      group.walks = walks.subspan(at, end - at);
      groups.push_back(group);
      at = end;
    }
    std::ranges::sort(groups, {}, [this](const Group& group) {
      return order_of(report_, group.walks.front().frame, group.walks.front().function, group.sums);
    });
    std::vector<TreeNode> children;
    children.reserve(groups.size());
    for (const Group& group : groups) {
      children.push_back(make_node(group.walks.front().frame, group.walks.front().function, group.sums));
      const bool is_light = static_cast<double>(group.sums.weight) < least_share_ * static_cast<double>(total_.weight);
      if (!is_light || children.size() == 1) children.back().children = children_of(callers_in(group.walks));
    }
    return children;
  }

  // The walks, one frame further; those that end here aren't among them.
  std::span<Walk> callers_in(std::span<Walk> walks) {
    const auto ended = std::ranges::stable_partition(walks, [](const Walk& walk) { return walk.callers != 0; });
    const std::span<Walk> further = walks.first(walks.size() - ended.size());
    for (Walk& walk : further) {
      const FrameNode& node = report_.frames.trie()[walk.caller];
      walk.function = nullptr;
      walk.frame = node.frame;
      walk.place = places_.of(node.frame);
      walk.caller = node.caller;
      --walk.callers;
    }
    return further;
  }

  const Report& report_;
  double least_share_;
  Places places_;
  Sums total_;
  std::vector<Walk> stacks_;
};

template <typename Tree>
TreeNode build(Tree tree, const Report& report, Weight weight, const DepthOf& depth_of) {
  for (const StackEntry& stack : report.stacks) {
    const uint64_t value = weight_of(stack, weight);
    if (stack.is_apart() || value == 0) continue;
    tree.add(stack, {value, stack.allocations.counted(), stack.live_blocks.counted()},
             static_cast<uint32_t>(depth_of(report.list(stack.frames))));
  }
  return tree.finish();
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

TreeNode build_top_down_tree(const Report& report, Weight weight, const DepthOf& depth_of) {
  return build(TopDownTree(report), report, weight, depth_of);
}

TreeNode build_bottom_up_tree(const Report& report, Weight weight, double least_share, const DepthOf& depth_of) {
  return build(BottomUpTree(report, least_share), report, weight, depth_of);
}

}  // namespace heaptap::report
