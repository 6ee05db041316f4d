#include "analysis/report/call_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace heaptap::report {
namespace {

TEST(CallTree, IsWeighedByTheSortKey) {
  Report report;
  report.totals.live_bytes = 10;
  for (const auto& [key, weight] :
       {std::pair{"usage", Weight::kLiveBytes}, std::pair{"peak", Weight::kPeakBytes},
        std::pair{"temporary", Weight::kTemporary}, std::pair{"total", Weight::kAllocatedBytes},
        std::pair{"average", Weight::kAllocatedBytes}, std::pair{"allocations", Weight::kAllocations}}) {
    report.sort_key = key;
    EXPECT_EQ(choose_weight(report), weight) << key;
  }
}

TEST(CallTree, IsNeverWeighedByAPeakThatTheStacksDoNotKnow) {
  Report report;
  report.sort_key = "peak";
  report.totals.live_bytes = 10;
  report.has_events = false;
  EXPECT_EQ(choose_weight(report), Weight::kLiveBytes);
}

TEST(CallTree, AddsUpTemporaryAllocations) {
  Report report;
  for (uint64_t count : {3, 4}) report.stacks.emplace_back().temporary_allocations = count;
  EXPECT_EQ(build_top_down_tree(report, Weight::kTemporary, [](const FrameList&) { return size_t{0}; }).weight, 7u);
}

// Stacks of up to six of ten functions, some with the same function twice, a few of no frames.
Report random_stacks() {
  Report report;
  std::mt19937 random(5);
  for (char name = 'a'; name < 'k'; ++name) {
    report.frames.push_back({});
    report.frames.all().back().function = name == 'j' ? "a" : std::string(1, name);
  }
  for (int i = 0; i < 300; ++i) {
    std::vector<FrameIndex> frames(random() % 7);
    for (FrameIndex& frame : frames) frame = static_cast<FrameIndex>(random() % 10);
    StackEntry& stack = report.stacks.emplace_back();
    stack.function = random() % 3 == 0 ? "calloc" : "malloc";
    stack.frames = report.frames.add(frames);
    stack.allocations = 1 + random() % 5;
    stack.live_blocks = random() % 2;
    stack.allocated_bytes = random() % 100;
  }
  return report;
}

using Paths = std::map<std::string, std::vector<uint64_t>>;

std::string name_of(const Report& report, const TreeNode& node) {
  return node.frame == kNoFrame ? node.function : report.frames[node.frame].function;
}

void add_paths(const Report& report, const TreeNode& node, const std::string& path, Paths& paths) {
  paths[path] = {node.weight, node.allocations, node.live_blocks};
  for (const TreeNode& child : node.children) add_paths(report, child, path + "/" + name_of(report, child), paths);
}

// What the tree should have: the sums of all beginnings of stacks, from the allocation outwards.
Paths beginnings_of(const Report& report) {
  Paths paths;
  for (const StackEntry& stack : report.stacks) {
    const uint64_t weight = stack.allocated_bytes.counted();
    if (weight == 0) continue;
    std::vector<std::string> names{"", "/" + stack.function};
    for (const FrameIndex frame : report.frames.indices(stack.frames)) {
      names.push_back(names.back() + "/" + report.frames[frame].function);
    }
    for (const std::string& name : names) {
      std::vector<uint64_t>& sums = paths[name];
      sums.resize(3);
      sums[0] += weight;
      sums[1] += stack.allocations.counted();
      sums[2] += stack.live_blocks.counted();
    }
  }
  return paths;
}

size_t all_frames(const FrameList& frames) { return frames.size(); }

TEST(BottomUpTree, AddsUpAllBeginningsOfStacks) {
  const Report report = random_stacks();
  Paths paths;
  add_paths(report, build_bottom_up_tree(report, Weight::kAllocatedBytes, 0, all_frames), "", paths);
  EXPECT_EQ(paths, beginnings_of(report));
}

// Without the children of light branches, of which the heaviest of a node are none; in order of weight.
void expect_pruned(const TreeNode& pruned, const TreeNode& whole, uint64_t least) {
  ASSERT_EQ(pruned.children.size(), whole.children.size());
  for (size_t i = 0; i < whole.children.size(); ++i) {
    const TreeNode& child = pruned.children[i];
    EXPECT_EQ(std::tuple(child.frame, child.function, child.weight, child.allocations, child.live_blocks),
              std::tuple(whole.children[i].frame, whole.children[i].function, whole.children[i].weight,
                         whole.children[i].allocations, whole.children[i].live_blocks));
    if (i > 0) {
      EXPECT_LE(child.weight, pruned.children[i - 1].weight);
    }
    if (i > 0 && child.weight < least) {
      EXPECT_TRUE(child.children.empty());
    } else {
      expect_pruned(child, whole.children[i], least);
    }
  }
}

TEST(BottomUpTree, LightBranchesHaveNoChildren) {
  const Report report = random_stacks();
  const TreeNode whole = build_bottom_up_tree(report, Weight::kAllocatedBytes, 0, all_frames);
  const TreeNode pruned = build_bottom_up_tree(report, Weight::kAllocatedBytes, 0.01, all_frames);
  EXPECT_EQ(pruned.weight, whole.weight);
  expect_pruned(pruned, whole, (whole.weight + 99) / 100);
}

}  // namespace
}  // namespace heaptap::report
