// Blocks of pools in a leak scan: what they lie in is cut before it, and whole after it.
#include "capture/supervision/pool_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace heaptap::supervision {
namespace {

using model::BlockPointer;
using model::HeapScan;
using model::RootPointer;
using model::ScannedBlock;
using wire::PointerKind;

constexpr model::BlockNumber kPooled = model::kFirstPooledNumber;

ScannedBlock block(uint64_t address, uint64_t size, model::BlockNumber number) { return {address, size, number, 0, 0}; }

std::vector<std::pair<uint64_t, uint64_t>> ranges_of(const std::vector<ScannedBlock>& blocks) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const ScannedBlock& each : blocks) ranges.emplace_back(each.address, each.address + each.size_bytes);
  return ranges;
}

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

Ranges pieces_of(const std::vector<ScannedBlock>& blocks, std::vector<ScannedBlock> pooled) {
  std::vector<model::BlockLife> none;
  return ranges_of(PoolCut(blocks, std::move(pooled)).pieces(none));
}

TEST(PoolCut, CutsWhatHoldsBlocksOfPools) {
  EXPECT_EQ(pieces_of({block(0x1000, 0x100, 1)}, {block(0x1040, 0x20, kPooled)}),
            (Ranges{{0x1000, 0x1040}, {0x1040, 0x1060}, {0x1060, 0x1100}}));
  EXPECT_EQ(pieces_of({block(0x1000, 0x40, 1)}, {block(0x1000, 0x20, kPooled), block(0x1020, 0x20, kPooled + 1)}),
            (Ranges{{0x1000, 0x1020}, {0x1020, 0x1040}}))
      << "nothing of it is left";
  EXPECT_EQ(pieces_of({block(0x1000, 0x40, 1)}, {block(0x5000, 0x20, kPooled), block(0x100, 8, kPooled + 1)}),
            (Ranges{{0x100, 0x108}, {0x1000, 0x1040}, {0x5000, 0x5020}}))
      << "in mappings, or in static memory";
  EXPECT_EQ(pieces_of({block(0x1000, 0, 1), block(0x1010, 0, 2)}, {block(0x1020, 8, kPooled)}),
            (Ranges{{0x1000, 0x1000}, {0x1010, 0x1010}, {0x1020, 0x1028}}))
      << "blocks of no bytes stay";
}

// A program says anything of its pools.
TEST(PoolCut, PiecesNeverOverlap) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 2000; ++round) {
    std::vector<ScannedBlock> blocks;
    uint64_t at = 0x1000;
    for (uint64_t i = random() % 6; i > 0; --i) {
      at += random() % 64;
      const uint64_t size = random() % 128;
      blocks.push_back(block(at, size, i));
      at += std::max<uint64_t>(size, 16);
    }
    std::vector<ScannedBlock> pooled;
    for (uint64_t i = random() % 8; i > 0; --i) {
      pooled.push_back(block(0xfc0 + random() % 1024, 1 + random() % 200, kPooled + i));
    }
    const Ranges pieces = pieces_of(blocks, pooled);
    for (size_t i = 1; i < pieces.size(); ++i) {
      ASSERT_GE(pieces[i].first, pieces[i - 1].second) << round;
      ASSERT_TRUE(pieces[i].first > pieces[i - 1].first) << round;
    }
    // Each address that is in a block is in a piece.
    for (const ScannedBlock& each : blocks) {
      for (uint64_t address = each.address; address < each.address + each.size_bytes; ++address) {
        const auto holds = [address](const auto& range) { return address >= range.first && address < range.second; };
        ASSERT_TRUE(std::ranges::any_of(pieces, holds)) << round;
      }
    }
  }
}

// The scan of the pieces, with these pointers.
HeapScan scan_of(const PoolCut& cut, const std::map<uint32_t, std::vector<BlockPointer>>& pointers,
                 std::vector<RootPointer> roots) {
  std::vector<model::BlockLife> none;
  HeapScan scan;
  scan.blocks = cut.pieces(none);
  scan.pointers_begin.push_back(0);
  for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
    if (const auto found = pointers.find(i); found != pointers.end()) {
      scan.pointers.insert(scan.pointers.end(), found->second.begin(), found->second.end());
    }
    scan.pointers_begin.push_back(static_cast<uint32_t>(scan.pointers.size()));
  }
  scan.roots = std::move(roots);
  return scan;
}

RootPointer root(uint32_t to, PointerKind kind) {
  return {.to = to, .kind = kind, .root = wire::RootKind::kGlobal, .thread = 0, .address = 8, .frame_code = 0};
}

TEST(PoolCut, JoinsThePiecesAgain) {
  const PoolCut cut({block(0x1000, 0x100, 1), block(0x2000, 0x10, 2)}, {block(0x1040, 0x20, kPooled)});
  // Pieces: 0 the arena's head, 1 the pool's block, 2 the arena's rest, 3 the other block.
  HeapScan scan = scan_of(cut,
                          {{0, {{2, 1, PointerKind::kStart}, {1, 2, PointerKind::kStart}}},
                           {1, {{3, 1, PointerKind::kStart}}},
                           {2, {{0, 0, PointerKind::kInterior}, {3, 3, PointerKind::kStart}}},
                           {3, {{2, 0, PointerKind::kStart}, {2, 1, PointerKind::kInterior}}}},
                          {root(0, PointerKind::kStart), root(2, PointerKind::kStart)});
  cut.join(scan, 8);
  ASSERT_EQ(ranges_of(scan.blocks), (Ranges{{0x1000, 0x1100}, {0x1040, 0x1060}, {0x2000, 0x2010}}));
  const auto pointers = [&](uint32_t from) {
    std::vector<std::tuple<uint32_t, uint32_t, PointerKind>> found;
    for (uint32_t i = scan.pointers_begin[from]; i < scan.pointers_begin[from + 1]; ++i) {
      found.emplace_back(scan.pointers[i].to, scan.pointers[i].offset, scan.pointers[i].kind);
    }
    return found;
  };
  using Found = std::vector<std::tuple<uint32_t, uint32_t, PointerKind>>;
  EXPECT_EQ(pointers(0), (Found{{1, 2, PointerKind::kStart}, {2, 0x60 / 8 + 3, PointerKind::kStart}}))
      << "to itself there are none, and offsets count from its start";
  EXPECT_EQ(pointers(1), (Found{{0, 0, PointerKind::kStart}, {2, 1, PointerKind::kStart}}))
      << "who holds a pool's block holds what it lies in";
  EXPECT_EQ(pointers(2), (Found{{0, 0, PointerKind::kInterior}})) << "to a piece's start is into the block, once";
  ASSERT_EQ(scan.roots.size(), 2u);
  EXPECT_EQ(scan.roots[0].kind, PointerKind::kStart);
  EXPECT_EQ(scan.roots[1].kind, PointerKind::kInterior);
  EXPECT_EQ(scan.roots[1].to, 0u);
}

TEST(PoolCut, KeepsTheGlobalVariablesThatPointToABlocksStart) {
  const PoolCut cut({block(0x1000, 0x100, 1)}, {block(0x1040, 0x20, kPooled)});
  HeapScan scan = scan_of(cut, {},
                          {root(0, PointerKind::kStart), root(0, PointerKind::kStart), root(2, PointerKind::kStart),
                           root(2, PointerKind::kStart)});
  cut.join(scan, 8);
  ASSERT_EQ(scan.roots.size(), 3u);
  EXPECT_EQ(scan.roots[0].kind, PointerKind::kStart);
  EXPECT_EQ(scan.roots[1].kind, PointerKind::kStart);
  EXPECT_EQ(scan.roots[2].kind, PointerKind::kInterior) << "to a later piece: once";
}

TEST(PoolCut, LivesAreThoseOfTheBlocks) {
  const PoolCut cut({block(0x1000, 0x40, 1), block(0x2000, 0x10, 2)}, {block(0x1010, 0x10, kPooled)});
  std::vector<model::BlockLife> lives{model::BlockLife::kFree, model::BlockLife::kAlive};
  HeapScan scan;
  scan.blocks = cut.pieces(lives);
  ASSERT_EQ(lives.size(), 4u);
  EXPECT_EQ(lives[0], model::BlockLife::kFree);
  EXPECT_EQ(lives[1], model::BlockLife::kUnknown) << "whether a pool's block is there, no allocator knows";
  EXPECT_EQ(lives[2], model::BlockLife::kFree);
  EXPECT_EQ(lives[3], model::BlockLife::kAlive);
  scan.lives = lives;
  scan.pointers_begin.assign(scan.blocks.size() + 1, 0);
  cut.join(scan, 8);
  EXPECT_EQ(scan.lives, (std::vector{model::BlockLife::kFree, model::BlockLife::kUnknown, model::BlockLife::kAlive}));
}

// Which blocks can't be searched the scanner says.
TEST(PoolCut, BlocksThatTheScannerLeftOutHoldNothing) {
  const PoolCut cut({block(0x1000, 0x40, 1)}, {block(0x1010, 0x10, kPooled)});
  HeapScan scan = scan_of(cut, {}, {root(0, PointerKind::kStart)});
  scan.blocks.erase(scan.blocks.begin() + 1, scan.blocks.end());
  scan.pointers_begin.resize(2);
  cut.join(scan, 8);
  EXPECT_EQ(scan.blocks.size(), 2u);
  EXPECT_EQ(scan.pointers_begin.size(), 3u);
  ASSERT_EQ(scan.roots.size(), 1u);
  EXPECT_EQ(scan.roots[0].to, 0u);
}

}  // namespace
}  // namespace heaptap::supervision
