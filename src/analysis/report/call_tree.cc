#include "analysis/report/call_tree.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <string_view>
#include <tuple>

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

class TreeMaker {
 public:
  explicit TreeMaker(const Report& report)
      : report_(report), places_(report.frames.size(), kNoPlace), of_path_(report.frames.trie(), 0) {}

  // The innermost `frames` of the stack.
  void add(const StackEntry& stack, const Sums& sums, size_t frames, bool bottom_up) {
    uint32_t branch = 0;
    if (bottom_up) branch = child(branch, place_of(stack.function), {.frame = kNoFrame, .function = &stack.function});
    const FramePath path = stack.frames.cut(static_cast<uint32_t>(frames));
    if (bottom_up) {
      for (const FrameIndex frame : report_.frames.indices(path)) branch = child_of_frame(branch, frame);
    } else {
      branch = of_path_(path, [this](uint32_t caller, FrameIndex frame) { return child_of_frame(caller, frame); });
      branch = child(branch, place_of(stack.function), {.frame = kNoFrame, .function = &stack.function});
    }
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
  static constexpr uint32_t kNoPlace = ~uint32_t{0};

  struct Branch {
    FrameIndex frame = kNoFrame;
    const std::string* function = nullptr;  // the called one
    uint32_t caller = 0;                    // or, bottom-up, the callee; a smaller index
    Sums sums = {};
  };

  uint32_t number_of(const FrameKey& key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t place_of(const std::string& function) { return number_of({function, "", "", 0}); }

  uint32_t child(uint32_t branch, uint32_t place, Branch content) {
    const auto [found, is_new] =
        children_.try_emplace(uint64_t{branch} << 32 | place, static_cast<uint32_t>(branches_.size()));
    if (is_new) {
      content.caller = branch;
      branches_.push_back(content);
    }
    return found->second;
  }

  uint32_t child_of_frame(uint32_t branch, FrameIndex frame) {
    uint32_t& place = places_[frame];
    if (place == kNoPlace) place = number_of(key_of(report_.frames[frame]));
    return child(branch, place, {.frame = frame});
  }

  // Heaviest first.
  [[nodiscard]] auto order_of(uint32_t index) const {
    const Branch& branch = branches_[index];
    const FrameKey key =
        branch.function != nullptr ? FrameKey{*branch.function, "", "", 0} : key_of(report_.frames[branch.frame]);
    return std::tuple(~branch.sums.weight, ~branch.sums.allocations, key);
  }

  TreeNode node_of(uint32_t index, std::vector<std::vector<uint32_t>>& children) {
    const Branch& branch = branches_[index];
    TreeNode node{.frame = branch.frame,
                  .function = branch.function == nullptr ? "" : *branch.function,
                  .weight = branch.sums.weight,
                  .allocations = branch.sums.allocations,
                  .live_blocks = branch.sums.live_blocks,
                  .children = {}};
    std::ranges::sort(children[index], {}, [this](uint32_t each) { return order_of(each); });
    node.children.reserve(children[index].size());
    for (const uint32_t each : children[index]) node.children.push_back(node_of(each, children));
    return node;
  }

  const Report& report_;
  std::vector<Branch> branches_ = std::vector<Branch>(1);
  boost::unordered_flat_map<uint64_t, uint32_t> children_;  // by branch and place
  std::map<FrameKey, uint32_t> numbers_;                    // of places in the program
  std::vector<uint32_t> places_;                            // of frames
  PathValues<uint32_t> of_path_;                            // branches
};

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
  TreeMaker tree(report);
  for (const StackEntry& stack : report.stacks) {
    const uint64_t value = weight_of(stack, weight);
    if (stack.is_apart() || value == 0) continue;
    tree.add(stack, {value, stack.allocations.counted(), stack.live_blocks.counted()},
             depth_of(report.list(stack.frames)), bottom_up);
  }
  return tree.finish();
}

}  // namespace heaptap::report
