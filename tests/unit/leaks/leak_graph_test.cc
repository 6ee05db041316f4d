// Classification, holders, dominators and differences of scans, against plain and slow definitions of the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "analysis/leaks/classify.h"
#include "analysis/leaks/dominators.h"
#include "analysis/leaks/holders.h"
#include "analysis/leaks/retained.h"
#include "analysis/leaks/scan_difference.h"
#include "heap_graph.h"

namespace {

using namespace heaptap;
using namespace heaptap::leaks;
using test::make_scan;
using wire::PointerKind;
using wire::RootKind;

constexpr PointerKind kInside = PointerKind::kInterior;
using Set = std::vector<bool>;

// All that `set` leads to, itself included, without going through `without`.
Set closure(const model::HeapScan& scan, Set set, const LeakOptions& options, bool certain_only,
            uint32_t without = model::kNoBlock) {
  if (without != model::kNoBlock) set[without] = false;
  for (bool grew = true; grew;) {
    grew = false;
    for (uint32_t from = 0; from < set.size(); ++from) {
      if (!set[from]) continue;
      for (uint32_t i = scan.pointers_begin[from]; i < scan.pointers_begin[from + 1]; ++i) {
        const model::BlockPointer& pointer = scan.pointers[i];
        if (set[pointer.to] || pointer.to == without || (certain_only && !options.is_certain(pointer.kind))) continue;
        set[pointer.to] = grew = true;
      }
    }
  }
  return set;
}

Set from_roots(const model::HeapScan& scan, const LeakOptions& options, bool certain_only) {
  Set set(scan.blocks.size());
  for (const model::RootPointer& root : scan.roots) {
    if (options.is_root(root.root) && (!certain_only || options.is_certain(root.kind))) set[root.to] = true;
  }
  return set;
}

std::vector<Set> closures_of_each(const model::HeapScan& scan, const LeakOptions& options) {
  std::vector<Set> all;
  for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
    Set one(scan.blocks.size());
    one[i] = true;
    all.push_back(closure(scan, one, options, false));
  }
  return all;
}

// Straight from the words of classify.h.
std::vector<BlockState> expected_states(const model::HeapScan& scan, const LeakOptions& options) {
  const Set certain = closure(scan, from_roots(scan, options, true), options, true);
  const Set any = closure(scan, from_roots(scan, options, false), options, false);
  const std::vector<Set> below = closures_of_each(scan, options);
  std::vector<BlockState> states;
  for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
    BlockState state = BlockState::kDefinite;
    for (uint32_t j = 0; j < scan.blocks.size(); ++j) {
      const bool cycle = below[i][j];
      const bool first = scan.blocks[i].number < scan.blocks[j].number;
      if (j != i && !any[j] && below[j][i] && !(cycle && first)) state = BlockState::kIndirect;
    }
    states.push_back(certain[i] ? BlockState::kReachable : any[i] ? BlockState::kPossible : state);
  }
  return states;
}

LeakOptions random_options(std::mt19937& random) {
  if (random() % 2 == 0) return {};
  return {.roots = static_cast<uint8_t>(random() & wire::kAllRootKinds),
          .heuristics = static_cast<uint16_t>(random() & kAllHeuristics)};
}

template <typename Check>
void for_random_scans(uint32_t max_blocks, Check check) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const model::HeapScan scan = test::make_random_scan(random, max_blocks);
    const LeakOptions options = random_options(random);
    SCOPED_TRACE(seed);
    check(scan, options);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Classify, CallsNothingLostThatMayHaveBeenReleased) {
  constexpr auto kAlive = model::BlockLife::kAlive;
  constexpr auto kMaybe = model::BlockLife::kUnknown;
  constexpr auto kFree = model::BlockLife::kFree;
  // 0 and 1 are reachable; 2 is free, though a root has its address left, and so it holds nothing (3); 4 may be released,
  // and leads to 5, which is in use; 6 may be released, but is held.
  model::HeapScan scan = make_scan(7, {{0, 1}, {2, 3}, {4, 5}, {1, 6}}, {{.to = 0}, {.to = 2}});
  scan.lives = {kAlive, kAlive, kFree, kMaybe, kMaybe, kAlive, kMaybe};
  const Classification classes = classify(scan);
  using enum BlockState;
  const std::vector<BlockState> expected{
      kReachable, kReachable, BlockState::kUnknown, BlockState::kUnknown, BlockState::kUnknown, kDefinite, kReachable};
  EXPECT_EQ(classes.states, expected);
  EXPECT_EQ(classes.total(BlockState::kUnknown).blocks, 3u);
  uint64_t sum = 0;
  for (const BlockTotal& total : classes.totals) sum += total.blocks;
  EXPECT_EQ(sum, scan.blocks.size());
  ASSERT_EQ(classes.groups.size(), 1u);
  EXPECT_EQ(classes.groups[0].indirect.blocks, 0u);
}

TEST(Classify, NothingIsSomethingToo) {
  const Classification result = classify(make_scan(0, {}, {}));
  EXPECT_TRUE(result.groups.empty());
  EXPECT_EQ(classify(model::HeapScan{}).total(BlockState::kDefinite).blocks, 0u);
}

TEST(Classify, AChainBelowALostBlockIsIndirectlyLost) {
  const Classification result = classify(make_scan(4, {{0, 1}, {1, 2}}, {{3}}));
  using enum BlockState;
  EXPECT_EQ(result.states, (std::vector{kDefinite, kIndirect, kIndirect, kReachable}));
  ASSERT_EQ(result.groups.size(), 1u);
  EXPECT_EQ(result.groups[0].indirect.blocks, 2u);
  EXPECT_EQ(result.groups[0].indirect.bytes, 101u + 102u);
  EXPECT_EQ(result.leaders, (std::vector<uint32_t>{0, 0, 0, model::kNoBlock}));
}

TEST(Classify, ALostCycleHasItsOldestBlockAsLeader) {
  model::HeapScan scan = make_scan(4, {{0, 1}, {1, 2}, {2, 0}, {1, 3}}, {});
  scan.blocks[1].number = 0;
  const Classification result = classify(scan);
  ASSERT_EQ(result.groups.size(), 1u);
  EXPECT_EQ(result.groups[0].leader, 1u);
  EXPECT_EQ(result.total(BlockState::kDefinite).blocks, 1u);
  EXPECT_EQ(result.total(BlockState::kIndirect).blocks, 3u);
}

TEST(Classify, ACycleBelowALostBlockHasNoLeaderOfItsOwn) {
  const Classification result = classify(make_scan(3, {{0, 1}, {1, 0}, {2, 1}}, {}));
  ASSERT_EQ(result.groups.size(), 1u);
  EXPECT_EQ(result.groups[0].leader, 2u);
}

TEST(Classify, WhatHangsOnAnInteriorPointerIsPossiblyLost) {
  const Classification result = classify(make_scan(4, {{0, 1, kInside}, {1, 2}, {0, 3}}, {{0}}));
  using enum BlockState;
  EXPECT_EQ(result.states, (std::vector{kReachable, kPossible, kPossible, kReachable}));
}

TEST(Classify, AHeuristicSwitchedOffMakesItsPointersUncertain) {
  const model::HeapScan scan = make_scan(1, {}, {{0, PointerKind::kStdString}});
  EXPECT_EQ(classify(scan).states[0], BlockState::kReachable);
  EXPECT_EQ(classify(scan, {.heuristics = 0}).states[0], BlockState::kPossible);
}

TEST(Classify, ARootKindSwitchedOffHoldsNothing) {
  const model::HeapScan scan = make_scan(1, {}, {{0, PointerKind::kStart, RootKind::kStack}});
  EXPECT_EQ(classify(scan, {.roots = wire::root_bit(RootKind::kGlobal)}).states[0], BlockState::kDefinite);
}

TEST(Classify, AgreesWithItsDefinitionOnRandomGraphs) {
  for_random_scans(40, [](const model::HeapScan& scan, const LeakOptions& options) {
    const Classification result = classify(scan, options);
    EXPECT_EQ(result.states, expected_states(scan, options));
    uint64_t blocks = 0;
    for (const BlockTotal& total : result.totals) blocks += total.blocks;
    EXPECT_EQ(blocks, scan.blocks.size());
    EXPECT_EQ(result.total(BlockState::kDefinite).blocks, result.groups.size());
    uint64_t indirect = 0;
    for (const LostGroup& group : result.groups) indirect += group.indirect.bytes;
    EXPECT_EQ(indirect, result.total(BlockState::kIndirect).bytes);
  });
}

TEST(Classify, WalksAListOfAMillionBlocks) {
  std::vector<test::GraphEdge> edges;
  constexpr uint32_t kBlocks = 1'000'000;
  for (uint32_t i = 0; i + 1 < kBlocks; ++i) edges.push_back({i, i + 1});
  const model::HeapScan scan = make_scan(kBlocks, edges, {{0}});
  EXPECT_EQ(classify(scan).total(BlockState::kReachable).blocks, kBlocks);
  EXPECT_EQ(classify(scan, {.roots = 0}).groups.size(), 1u);
  EXPECT_EQ(find_dominators(scan).retained_blocks[0], kBlocks);
  EXPECT_EQ(Holders(scan).path_to(kBlocks - 1).steps.size(), kBlocks - 1);
}

TEST(HeldByKinds, IsWhatEachKindOfRootLeadsTo) {
  for_random_scans(40, [](const model::HeapScan& scan, const LeakOptions& options) {
    std::vector<uint8_t> expected(scan.blocks.size());
    for (unsigned kind = 0; kind < wire::kRootKindCount; ++kind) {
      LeakOptions of_kind = options;
      of_kind.roots &= wire::root_bit(static_cast<RootKind>(kind));
      const Set held = closure(scan, from_roots(scan, of_kind, false), of_kind, false);
      for (size_t i = 0; i < held.size(); ++i) {
        if (held[i]) expected[i] |= wire::root_bit(static_cast<RootKind>(kind));
      }
    }
    EXPECT_EQ(held_by_kinds(scan, options), expected);
  });
}

TEST(HeldByKinds, AVariableOwnsABlockBeforeThreadsBeforeMappingsBeforeStacks) {
  using enum RootKind;
  const std::vector<std::pair<RootOwner, std::vector<RootKind>>> owners{
      {RootOwner::kGlobals, {kGlobal}},
      {RootOwner::kThreadLocals, {kThreadLocal}},
      {RootOwner::kMappings, {kMapping, kKernel}},
      {RootOwner::kStacks, {kStack, kRegister, kAlternateStack, kContextStack}}};
  for (unsigned kinds = 1; kinds <= wire::kAllRootKinds; ++kinds) {
    const auto first = std::ranges::find_if(owners, [&](const auto& owner) {
      return std::ranges::any_of(owner.second, [&](RootKind kind) { return (kinds & wire::root_bit(kind)) != 0; });
    });
    EXPECT_EQ(owner_among(static_cast<uint8_t>(kinds)), first->first) << kinds;
  }
}

TEST(Holders, GivesTheShortestWay) {
  const model::HeapScan scan = make_scan(5, {{0, 1}, {1, 2}, {2, 3}, {4, 3}}, {{0}, {4}});
  const HolderPath path = Holders(scan).path_to(3);
  EXPECT_EQ(path.root, 1u);
  ASSERT_EQ(path.steps.size(), 1u);
  EXPECT_EQ(path.steps[0].block, 4u);
  EXPECT_EQ(scan.pointers[path.steps[0].pointer].to, 3u);
}

TEST(Holders, PrefersALongCertainWayToAShortUncertainOne) {
  const model::HeapScan scan = make_scan(3, {{0, 1}, {1, 2}, {0, 2, kInside}}, {{0}});
  EXPECT_EQ(Holders(scan).path_to(2).steps.size(), 2u);
}

TEST(Holders, NothingHoldsALostBlock) { EXPECT_EQ(Holders(make_scan(1, {}, {})).path_to(0).root, model::kNoBlock); }

// Fewest pointers, by rounds.
std::vector<uint32_t> expected_distances(const model::HeapScan& scan, const LeakOptions& options) {
  std::vector<uint32_t> distances(scan.blocks.size(), 0);
  for (const bool certain : {true, false}) {
    const std::vector<uint32_t> before = distances;
    for (uint32_t round = 1; round <= scan.blocks.size() + 1; ++round) {
      const auto reach = [&](uint32_t to, PointerKind kind) {
        if ((!certain || options.is_certain(kind)) && distances[to] == 0) distances[to] = round;
      };
      for (const model::RootPointer& root : scan.roots) {
        if (round == 1 && options.is_root(root.root)) reach(root.to, root.kind);
      }
      for (uint32_t from = 0; from < scan.blocks.size(); ++from) {
        if (round < 2 || distances[from] != round - 1) continue;
        for (uint32_t i = scan.pointers_begin[from]; i < scan.pointers_begin[from + 1]; ++i) {
          reach(scan.pointers[i].to, scan.pointers[i].kind);
        }
      }
    }
  }
  return distances;
}

TEST(Holders, AgreesWithASlowSearchOnRandomGraphs) {
  for_random_scans(40, [](const model::HeapScan& scan, const LeakOptions& options) {
    const std::vector<uint32_t> expected = expected_distances(scan, options);
    const Holders holders(scan, options);
    for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
      EXPECT_EQ(holders.distance(i), expected[i]);
      const HolderPath path = holders.path_to(i);
      EXPECT_EQ(path.root == model::kNoBlock ? 0 : path.steps.size() + 1, expected[i]);
      for (size_t step = 0; step < path.steps.size(); ++step) {
        const uint32_t to = step + 1 < path.steps.size() ? path.steps[step + 1].block : i;
        EXPECT_EQ(scan.pointers[path.steps[step].pointer].to, to);
      }
    }
  });
}

TEST(Dominators, WhatTwoHoldBelongsToTheirCommonHolder) {
  const Dominators result = find_dominators(make_scan(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {{0}}));
  EXPECT_EQ(result.parents, (std::vector<uint32_t>{model::kNoBlock, 0, 0, 0}));
  EXPECT_EQ(result.retained_bytes, (std::vector<uint64_t>{406, 101, 102, 103}));
}

TEST(Dominators, AgreesWithTakingEachBlockAwayOnRandomGraphs) {
  for_random_scans(40, [](const model::HeapScan& scan, const LeakOptions& options) {
    const Dominators result = find_dominators(scan, options);
    const Set roots = from_roots(scan, options, false);
    const Set held = closure(scan, roots, options, false);
    for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
      const Set without = closure(scan, roots, options, false, i);
      uint64_t bytes = 0;
      for (uint32_t j = 0; j < scan.blocks.size(); ++j) bytes += held[j] && !without[j] ? scan.blocks[j].size_bytes : 0;
      EXPECT_EQ(result.retained_bytes[i], bytes);
      const uint32_t parent = result.parents[i];
      if (parent != model::kNoBlock) {
        EXPECT_GE(result.retained_bytes[parent], result.retained_bytes[i]);
      }
    }
  });
}

TEST(Holders, WaysBetweenTwoBlocksAreAsShortAsASearchByRoundsSays) {
  for_random_scans(20, [](const model::HeapScan& scan, const LeakOptions&) {
    for (uint32_t from = 0; from < scan.blocks.size(); ++from) {
      Set set(scan.blocks.size());
      set[from] = true;
      const Set below = closure(scan, set, {}, false);
      for (uint32_t to = 0; to < scan.blocks.size(); ++to) {
        const std::vector<HolderStep> way = way_between(scan, from, to);
        if (to != from) {
          EXPECT_EQ(way.empty(), !below[to]);
        }
        for (size_t step = 0; step < way.size(); ++step) {
          EXPECT_EQ(scan.pointers[way[step].pointer].to, step + 1 < way.size() ? way[step + 1].block : to);
        }
        if (!way.empty()) {
          EXPECT_EQ(way.front().block, from);
        }
      }
    }
  });
}

TEST(Holders, AWayFromABlockToItselfIsAShortestCycle) {
  for_random_scans(20, [](const model::HeapScan& scan, const LeakOptions&) {
    for (uint32_t from = 0; from < scan.blocks.size(); ++from) {
      size_t least = 0;  // by the ways from each block that it points to
      for (uint32_t i = scan.pointers_begin[from]; i < scan.pointers_begin[from + 1]; ++i) {
        const uint32_t next = scan.pointers[i].to;
        const size_t way = next == from ? 0 : way_between(scan, next, from).size();
        if (next != from && way == 0) continue;
        least = least == 0 ? way + 1 : std::min(least, way + 1);
      }
      EXPECT_EQ(way_between(scan, from, from).size(), least);
    }
  });
}

TEST(Retained, GroupsCountABlockOnceThatSeveralOfThemDominate) {
  for_random_scans(40, [](const model::HeapScan& scan, const LeakOptions& options) {
    const Dominators dominators = find_dominators(scan, options);
    constexpr uint32_t kGroups = 3;
    std::vector<uint32_t> groups;
    for (const model::ScannedBlock& block : scan.blocks)
      groups.push_back(static_cast<uint32_t>(block.number % kGroups));
    std::vector<uint64_t> expected(kGroups);
    for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
      bool seen[kGroups] = {};
      if (dominators.retained_blocks[i] == 0) continue;
      for (uint32_t at = i; at != model::kNoBlock; at = dominators.parents[at]) seen[groups[at]] = true;
      for (uint32_t group = 0; group < kGroups; ++group) expected[group] += seen[group] ? scan.blocks[i].size_bytes : 0;
    }
    const std::vector<GroupTotal> result = retained_by_groups(scan, dominators, groups, kGroups);
    for (uint32_t group = 0; group < kGroups; ++group) EXPECT_EQ(result[group].retained.bytes, expected[group]);
  });
}

TEST(Retained, RootsOfAGroupRetainWhatIsNotHeldWithoutThem) {
  for_random_scans(40, [](const model::HeapScan& scan, const LeakOptions& options) {
    constexpr uint32_t kGroups = 3;
    std::vector<uint32_t> groups;
    for (size_t i = 0; i < scan.roots.size(); ++i) {
      groups.push_back(i % 4 == 3 ? kNoGroup : static_cast<uint32_t>(i % 4));
    }
    const RootGroups result = retained_by_roots(scan, groups, kGroups, options);
    const Set held = closure(scan, from_roots(scan, options, false), options, false);
    for (uint32_t group = 0; group < kGroups; ++group) {
      model::HeapScan rest = scan;
      rest.roots.clear();
      for (size_t i = 0; i < scan.roots.size(); ++i) {
        if (groups[i] != group) rest.roots.push_back(scan.roots[i]);
      }
      const Set without = closure(rest, from_roots(rest, options, false), options, false);
      BlockTotal expected;
      for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
        EXPECT_EQ(result.of_blocks[i] == group, held[i] && !without[i]);
        if (!held[i] || without[i]) continue;
        ++expected.blocks;
        expected.bytes += scan.blocks[i].size_bytes;
      }
      EXPECT_EQ(result.retained[group].bytes, expected.bytes);
      EXPECT_EQ(result.retained[group].blocks, expected.blocks);
    }
  });
}

TEST(Retained, GroupsShareWhatTheyLeadToAndNoneRetains) {
  for_random_scans(40, [](const model::HeapScan& scan, const LeakOptions& options) {
    constexpr uint32_t kGroups = 3;  // no more than a block's groups that are kept
    std::vector<uint32_t> groups;
    for (size_t i = 0; i < scan.roots.size(); ++i) groups.push_back(static_cast<uint32_t>(i % kGroups));
    const RootGroups result = retained_by_roots(scan, groups, kGroups, options);
    for (uint32_t group = 0; group < kGroups; ++group) {
      model::HeapScan alone = scan;
      alone.roots.clear();
      for (size_t i = 0; i < scan.roots.size(); ++i) {
        if (groups[i] == group) alone.roots.push_back(scan.roots[i]);
      }
      const Set led_to = closure(alone, from_roots(alone, options, false), options, false);
      uint64_t shared = 0;
      for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
        shared += led_to[i] && result.of_blocks[i] == kNoGroup ? scan.blocks[i].size_bytes : 0;
      }
      EXPECT_EQ(result.sharing[group].bytes, shared);
    }
  });
}

TEST(ScanDifference, FollowsBlocksByTheirNumber) {
  const model::HeapScan earlier = make_scan(4, {}, {{3}});  // lost: 1, 2, 3
  model::HeapScan later = make_scan(4, {}, {{0}});          // lost: blocks 1, 2, 3
  later.blocks[1].number = 3;
  later.blocks[2].number = 9;
  later.blocks[3].number = 2;
  const Classification before = classify(earlier);
  const Classification after = classify(later);
  const ScanDifference difference = compare_scans({earlier, before}, {later, after});
  EXPECT_EQ(difference.allocated, (std::vector<uint32_t>{2}));
  EXPECT_TRUE(difference.older.empty());
  EXPECT_EQ(difference.remained, (std::vector<uint32_t>{3, 1}));
  EXPECT_EQ(difference.gone, (std::vector<uint32_t>{0}));
}

TEST(ScanDifference, TellsBlocksThatAreNewFromOlderOnesThatWereLostSince) {
  const model::HeapScan earlier = make_scan(4, {}, {{0}, {3}});
  model::HeapScan later = make_scan(5, {}, {{0}});
  const ScanDifference difference = compare_scans({earlier, classify(earlier)}, {later, classify(later)});
  EXPECT_EQ(difference.allocated, (std::vector<uint32_t>{4}));
  EXPECT_EQ(difference.older, (std::vector<uint32_t>{3}));
  EXPECT_EQ(difference.remained, (std::vector<uint32_t>{1, 2}));
}

TEST(ScanDifference, FollowsBlocksOfPoolsByTheirPlace) {
  model::HeapScan earlier = make_scan(3, {}, {{0}, {2}});
  model::HeapScan later = make_scan(4, {}, {{0}});
  for (model::HeapScan* const scan : {&earlier, &later}) {
    for (size_t i = 0; i < scan->blocks.size(); ++i) scan->blocks[i].number = model::kFirstPooledNumber + i;
  }
  later.blocks[1].site = 7;  // another one of this place
  for (size_t i = 1; i < 4; ++i) later.blocks[i].number = model::kFirstPooledNumber + 4 - i;  // they mean nothing
  const ScanDifference difference = compare_scans({earlier, classify(earlier)}, {later, classify(later)});
  EXPECT_EQ(difference.allocated, (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(difference.older, (std::vector<uint32_t>{2}));
  EXPECT_TRUE(difference.remained.empty());
  EXPECT_EQ(difference.gone, (std::vector<uint32_t>{1}));
}

}  // namespace
