// Cycles of lost blocks: which blocks are in one, and the shortest one of a block.
#include "analysis/query/lost_cycles.h"

#include <gtest/gtest.h>

#include "heap_graph.h"

namespace heaptap::query {
namespace {

using Blocks = std::vector<uint32_t>;

struct Lost {
  explicit Lost(model::HeapScan made) : scan(std::move(made)), states(leaks::classify(scan).states) {}
  [[nodiscard]] Blocks in_cycles() const {
    Blocks blocks;
    const std::vector<uint8_t> found = find_in_cycles(scan, states);
    for (uint32_t i = 0; i < found.size(); ++i) {
      if (found[i] != 0) blocks.push_back(i);
    }
    return blocks;
  }
  [[nodiscard]] Blocks cycle(uint32_t block) const { return cycle_through(scan, states, block); }

  model::HeapScan scan;
  std::vector<leaks::BlockState> states;
};

TEST(LostCycles, OfTwoBlocksThatPointToEachOther) {
  const Lost lost(test::make_scan(3, {{0, 1}, {1, 0}, {1, 2}}, {}));
  EXPECT_EQ(lost.in_cycles(), (Blocks{0})) << "the leader alone: the other one is indirectly lost";
  EXPECT_EQ(lost.cycle(0), (Blocks{0, 1}));
}

TEST(LostCycles, AreTheShortestOfABlock) {
  const Lost lost(test::make_scan(5, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {1, 4}, {4, 0}}, {}));
  EXPECT_EQ(lost.cycle(0), (Blocks{0, 1, 4}));
}

TEST(LostCycles, ArentFoundInATree) {
  const Lost lost(test::make_scan(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {}));
  EXPECT_EQ(lost.in_cycles(), Blocks{});
  EXPECT_EQ(lost.cycle(0), Blocks{});
}

TEST(LostCycles, BelowAnotherLeakDontMakeThatOneACycle) {
  const Lost lost(test::make_scan(3, {{0, 1}, {1, 2}, {2, 1}}, {}));
  EXPECT_EQ(lost.in_cycles(), Blocks{});
  EXPECT_EQ(lost.cycle(0), Blocks{});
}

TEST(LostCycles, OfReachableBlocksArentLost) {
  const Lost lost(test::make_scan(2, {{0, 1}, {1, 0}}, {{0}}));
  EXPECT_EQ(lost.in_cycles(), Blocks{});
}

TEST(LostCycles, AsLongAsAHeapAreNotSearchedToTheEnd) {
  constexpr uint32_t kBlocks = 20'000;
  std::vector<test::GraphEdge> edges;
  for (uint32_t i = 0; i < kBlocks; ++i) edges.push_back({i, (i + 1) % kBlocks});
  const Lost lost(test::make_scan(kBlocks, edges, {}));
  EXPECT_EQ(lost.in_cycles(), (Blocks{0}));
  EXPECT_EQ(lost.cycle(0), Blocks{});
}

TEST(LostCycles, ArentMadeByABlockOfAPoolAndItsMemory) {
  model::HeapScan scan = test::make_scan(2, {{0, 1}, {1, 0}}, {});
  scan.blocks[1].address = scan.blocks[0].address;
  scan.blocks[1].number = model::kFirstPooledNumber;
  const Lost lost(std::move(scan));
  EXPECT_EQ(lost.in_cycles(), Blocks{});
}

TEST(LostCycles, AreCountedForTheSiteOfTheirLeader) {
  const model::HeapScan scan = test::make_scan(4, {{0, 1}, {1, 0}, {2, 3}, {3, 2}}, {});
  const LeakCounts counts(scan, {});
  const report::StackLeaks& leaks = *counts.of(scan.blocks[0].site);
  EXPECT_EQ(leaks.in_cycles.blocks, 2u);
  EXPECT_EQ(leaks.in_cycles.bytes, scan.blocks[0].size_bytes + scan.blocks[2].size_bytes);
  const LeakCounts hidden(scan, {.options = {}, .suppressor = [](model::SiteId, leaks::BlockState) { return 0u; }});
  EXPECT_EQ(hidden.of(scan.blocks[0].site)->in_cycles.blocks, 0u);
}

}  // namespace
}  // namespace heaptap::query
