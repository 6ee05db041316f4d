#include "analysis/report/frame_trie.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/report/frame_list.h"
#include "analysis/report/node_merger.h"
#include "analysis/report/path_values.h"

namespace heaptap::report {
namespace {

using Frames = std::vector<FrameIndex>;

Frames frames_of(const FrameTrie& trie, FramePath path) {
  const FrameIndices indices = trie.indices(path);
  return {indices.begin(), indices.end()};
}

// Stacks 1 < 0, 2 < 0, and 3 < 2 < 0.
struct Three {
  FrameTrie trie;
  NodeIndex main = trie.add(kRootNode, 0);
  FramePath one{.node = trie.add(main, 1), .size = 2};
  FramePath two{.node = trie.add(main, 2), .size = 2};
  FramePath three{.node = trie.add(two.node, 3), .size = 3};
};

TEST(FrameTrie, HasTheFramesOfAStackInnermostFirst) {
  const Three stacks;
  EXPECT_EQ(frames_of(stacks.trie, stacks.three), (Frames{3, 2, 0}));
  EXPECT_EQ(stacks.trie.indices(stacks.three).size(), 3u);
  EXPECT_TRUE(stacks.trie.indices({}).empty());
  const FrameTable table({{}, {}, {}, {}}, stacks.trie);
  EXPECT_EQ(table.outermost_first(stacks.three), (Frames{0, 2, 3}));
}

TEST(FrameTrie, CutsOuterFrames) {
  const Three stacks;
  EXPECT_EQ(frames_of(stacks.trie, stacks.three.cut(2)), (Frames{3, 2}));
  EXPECT_TRUE(stacks.three.cut(2).is_cut);
  EXPECT_EQ(stacks.three.cut(3), stacks.three);
}

TEST(FrameTrie, GetsAFrameForAReservedNodeLater) {
  FrameTrie trie;
  const NodeIndex caller = trie.reserve();
  const FramePath cut{.node = trie.add(caller, 1), .size = 1, .is_cut = true};
  EXPECT_EQ(frames_of(trie, cut), Frames{1});
  trie.set(caller, {kRootNode, 0});
  EXPECT_EQ(frames_of(trie, {.node = cut.node, .size = 2}), (Frames{1, 0}));
}

TEST(TrieCopy, NumbersFramesInTheOrderOfTheirUseAndKeepsWhatIsShared) {
  const Three stacks;
  FrameTrie copied;
  Frames used;
  TrieCopy copy(stacks.trie, copied, [&used](FrameIndex frame) {
    for (FrameIndex place = 0; place < used.size(); ++place) {
      if (used[place] == frame) return place;
    }
    used.push_back(frame);
    return static_cast<FrameIndex>(used.size() - 1);
  });
  const FramePath three = copy(stacks.three);
  const FramePath one = copy(stacks.one);
  EXPECT_EQ(used, (Frames{3, 2, 0, 1}));
  EXPECT_EQ(frames_of(copied, three), (Frames{0, 1, 2}));
  EXPECT_EQ(frames_of(copied, one), (Frames{3, 2}));
  EXPECT_EQ(copied.size(), 1u + 4u) << "main is shared";
  EXPECT_EQ(copy(stacks.three), three);
}

TEST(TrieCopy, LeavesOutTheCallersOfACutStack) {
  const Three stacks;
  FrameTrie copied;
  Frames asked;
  TrieCopy copy(stacks.trie, copied, [&asked](FrameIndex frame) {
    asked.push_back(frame);
    return frame;
  });
  EXPECT_EQ(frames_of(copied, copy(stacks.three.cut(2))), (Frames{3, 2}));
  EXPECT_EQ(asked, (Frames{3, 2}));
  EXPECT_EQ(frames_of(copied, copy(stacks.three)), (Frames{3, 2, 0})) << "the whole stack is another one";
}

TEST(NodeMerger, MakesOneNodeOfEqualStacks) {
  const Three first;
  FrameTrie second;
  const NodeIndex main = second.add(kRootNode, 5);
  const NodeIndex two = second.add(main, 6);
  FrameTrie merged;
  NodeMerger merger(merged);
  const std::vector<NodeIndex> of_first = merger.add(first.trie, {0, 1, 2, 3});
  const std::vector<NodeIndex> of_second = merger.add(second, {9, 9, 9, 9, 9, 0, 2});
  EXPECT_EQ(of_second[two], of_first[first.two.node]);
  EXPECT_EQ(frames_of(merged, {.node = of_first[first.three.node], .size = 3}), (Frames{3, 2, 0}));
  EXPECT_EQ(merged.size(), first.trie.size());
}

TEST(NodeMerger, TakesANodeThatComesBeforeItsCaller) {
  FrameTrie part;
  const NodeIndex caller = part.reserve();
  const NodeIndex inner = part.add(caller, 1);
  const NodeIndex never_named = part.reserve();
  part.set(caller, {part.add(kRootNode, 0), 2});
  FrameTrie merged;
  const std::vector<NodeIndex> nodes = NodeMerger(merged).add(part, {0, 1, 2});
  EXPECT_EQ(frames_of(merged, {.node = nodes[inner], .size = 3}), (Frames{1, 2, 0}));
  EXPECT_EQ(nodes[never_named], kRootNode);
}

TEST(PathValues, AreMadeOnceANode) {
  const Three stacks;
  PathValues<std::string> values(stacks.trie, "");
  unsigned made = 0;
  const auto make = [&made](const std::string& caller, FrameIndex frame) {
    ++made;
    return caller + std::to_string(frame);
  };
  EXPECT_EQ(values(stacks.one, make), "01");
  EXPECT_EQ(values(stacks.three, make), "023");
  EXPECT_EQ(values(stacks.two, make), "02");
  EXPECT_EQ(made, 4u);
}

TEST(PathValues, OfACutStackBeginWhereItIsCut) {
  const Three stacks;
  PathValues<std::string> values(stacks.trie, "");
  const auto make = [](const std::string& caller, FrameIndex frame) { return caller + std::to_string(frame); };
  EXPECT_EQ(values(stacks.three, make), "023");
  EXPECT_EQ(values(stacks.three.cut(2), make), "23");
  EXPECT_EQ(values(stacks.three, make), "023");
}

}  // namespace
}  // namespace heaptap::report
