// The leak scanner on made-up memory.
#include "capture/scan/heap_scanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "analysis/leaks/classify.h"
#include "capture/scan/block_index.h"
#include "fake_memory.h"

namespace {

using namespace heaptap;
using namespace heaptap::scan;
using wire::PointerKind;
using wire::RootKind;

constexpr uint64_t kHeap = 0x5555'0000'0000;
constexpr uint64_t kGlobals = 0x5554'0000'0000;
constexpr uint64_t kStack = 0x7fff'0000'0000;
constexpr uint64_t kReadOnly = 0x7f00'0000'0000;
constexpr uint64_t kVtable = kReadOnly + 0x110;
constexpr uint64_t kOtherVtable = kReadOnly + 0x210;
constexpr uint32_t kThread = 4711;

// A heap of 64 KiB, globals, a stack and read-only data with two vtables.
class HeapScannerTest : public testing::Test {
 protected:
  HeapScannerTest() {
    memory_.add(kHeap, 8192);
    memory_.add(kGlobals, 64);
    memory_.add(kStack, 64);
    memory_.add(kReadOnly, 512);
    for (const uint64_t vtable : {kVtable, kOtherVtable}) {
      memory_.put(vtable - 8, kReadOnly + 0x800);
      memory_.put(vtable, 0x401000);
    }
    memory_.put(kOtherVtable - 16, uint64_t{0} - 16);
    input_.read_only_data = {{kReadOnly, kReadOnly + 4096}};
    input_.root_ranges = {{kGlobals, kGlobals + 512, RootKind::kGlobal, 0}};
    input_.threads = {{kThread, 3}};
  }

  uint32_t add_block(uint64_t address, uint64_t size) {
    const auto index = static_cast<uint32_t>(input_.blocks.size());
    input_.blocks.push_back({.address = address, .size_bytes = size, .number = index + 1, .site = 7, .type = 99});
    return index;
  }

  model::HeapScan scan(ScanLimits limits = {}) {
    HeapScanner scanner(input_, limits);
    scanner.collect(memory_);
    return scanner.resolve();
  }

  // The kind of the only root.
  PointerKind kind_of_root(uint64_t value) {
    memory_.put(kGlobals, value);
    const model::HeapScan result = scan();
    EXPECT_EQ(result.roots.size(), 1u);
    return result.roots.empty() ? PointerKind::kInterior : result.roots[0].kind;
  }

  bool is_held(uint64_t value) {
    memory_.put(kGlobals, value);
    return !scan().roots.empty();
  }

  test::FakeMemory memory_;
  ScanInput input_;
};

TEST_F(HeapScannerTest, ANullHeapIsFine) {
  EXPECT_TRUE(scan().blocks.empty());
  EXPECT_EQ(scan().pointers_begin.size(), 1u);
}

TEST_F(HeapScannerTest, TellsStartFromInterior) {
  add_block(kHeap + 64, 40);
  EXPECT_EQ(kind_of_root(kHeap + 64), PointerKind::kStart);
  EXPECT_EQ(kind_of_root(kHeap + 72), PointerKind::kInterior);
  EXPECT_EQ(kind_of_root(kHeap + 64 + 39), PointerKind::kInterior);
}

TEST_F(HeapScannerTest, KnowsBitsThatTheProgramKeepsInAPointer) {
  add_block(kHeap + 64, 40);
  for (const uint64_t bits :
       {uint64_t{1}, uint64_t{7}, uint64_t{0x0123} << 48, uint64_t{0x1fffb} << 47, uint64_t{0x8000} << 48 | 3}) {
    EXPECT_EQ(kind_of_root((kHeap + 64) | bits), PointerKind::kTagged) << std::hex << bits;
  }
  EXPECT_FALSE(is_held((kHeap + 72) | uint64_t{0x0123} << 48)) << "into the middle it is chance";
}

TEST_F(HeapScannerTest, TaggedWordsOfBlocksAreInOrderAmongOthers) {
  const uint32_t a = add_block(kHeap + 64, 32);
  const uint32_t b = add_block(kHeap + 128, 32);
  const uint32_t c = add_block(kHeap + 192, 32);
  memory_.put(kHeap + 64, (kHeap + 128) | uint64_t{1} << 50);
  memory_.put(kHeap + 72, kHeap + 192);
  memory_.put(kHeap + 80, (kHeap + 192) | uint64_t{1} << 50);
  memory_.put(kHeap + 128 + 24, (kHeap + 64) | uint64_t{1} << 50);
  memory_.put(kHeap + 96, (kHeap + 64) | uint64_t{1} << 50);  // between blocks
  const model::HeapScan result = scan();
  EXPECT_EQ(result.pointers_begin, (std::vector<uint32_t>{0, 3, 4, 4}));
  const std::vector<std::pair<uint32_t, PointerKind>> expected{
      {b, PointerKind::kTagged}, {c, PointerKind::kStart}, {c, PointerKind::kTagged}, {a, PointerKind::kTagged}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::pair(result.pointers[i].to, result.pointers[i].kind), expected[i]) << i;
  }
}

TEST_F(HeapScannerTest, MarksInATreesOwnNodesAreNoDoubt) {
  add_block(kHeap + 64, 40);
  add_block(kHeap + 128, 40);
  memory_.put(kHeap + 64 + 8, (kHeap + 128) | 1);
  EXPECT_EQ(scan().pointers.at(0).kind, PointerKind::kTagged) << "nobody knows who allocated them";
  input_.calls[0] = std::vector<uint32_t>(8, 5);
  EXPECT_EQ(scan().pointers.at(0).kind, PointerKind::kMarked);
  memory_.put(kHeap + 64 + 8, (kHeap + 128) | 4);
  EXPECT_EQ(scan().pointers.at(0).kind, PointerKind::kTagged);
}

// Blocks of 32 bytes, each of which has the distance to another one in its second word. Of site 1 one call allocates them, of site 2
// another one what they hold.
class RelativeTest : public HeapScannerTest {
 protected:
  RelativeTest() { input_.calls[0] = {kNoCall, 10, 11, 12}; }

  void hold(uint64_t at, uint64_t held, model::SiteId site = 1) {
    add(at, site);
    add(held, 2);
    memory_.put(at + 8, held - at);
  }
  void add(uint64_t at, model::SiteId site) { input_.blocks[add_block(at, 32)].site = site; }

  size_t tagged() {
    const model::HeapScan result = scan();
    EXPECT_EQ(result.pointers.size(), result.pointers_begin.back());
    return static_cast<size_t>(std::ranges::count(result.pointers, PointerKind::kTagged, &model::BlockPointer::kind));
  }
};

TEST_F(RelativeTest, DistancesAreBelievedWhereFourBlocksOfACallHaveThem) {
  for (uint64_t i = 0; i < 3; ++i) hold(kHeap + 64 * i, kHeap + 4096 + 256 * i);
  EXPECT_EQ(tagged(), 0u);
  hold(kHeap + 1024, kHeap + 6400, 3);
  EXPECT_EQ(tagged(), 0u) << "of another call";
  hold(kHeap + 2048, kHeap + 7168);
  const model::HeapScan result = scan();
  ASSERT_EQ(result.pointers.size(), 4u);
  EXPECT_EQ(result.pointers_begin[3], 3u);
  for (const model::BlockPointer& pointer : result.pointers) {
    EXPECT_EQ(pointer.kind, PointerKind::kTagged);
    EXPECT_EQ(pointer.offset, 1u);
  }
  EXPECT_EQ(result.blocks[result.pointers[1].to].address, kHeap + 4096 + 256);
}

TEST_F(RelativeTest, DistancesToNeighboursMayBeSizesButNegativeOnesAreNone) {
  for (uint64_t i = 0; i < 8; ++i) hold(kHeap + 64 * i, kHeap + 64 * i + 32);
  EXPECT_EQ(tagged(), 0u);
  input_.blocks.clear();
  for (uint64_t i = 0; i < 8; ++i) hold(kHeap + 64 * i + 32, kHeap + 64 * i);
  EXPECT_EQ(tagged(), 8u);
}

TEST_F(RelativeTest, OneOfFourBlocksMayHaveSomethingElseThere) {
  for (uint64_t i = 0; i < 6; ++i) hold(kHeap + 64 * i + 32, kHeap + 64 * i);
  for (uint64_t i = 6; i < 8; ++i) add(kHeap + 64 * i, 1);
  EXPECT_EQ(tagged(), 6u);
  add(kHeap + 1024, 1);
  EXPECT_EQ(tagged(), 0u);
}

TEST_F(RelativeTest, ABlockMayBeginWithFourOfThem) {
  const uint64_t table = kHeap + 4096;
  add(table, 1);
  input_.blocks[0].size_bytes = 64;
  for (uint64_t i = 0; i < 3; ++i) {
    add(kHeap + 64 * i, 2);
    memory_.put(table + 8 * i, kHeap + 64 * i - table);
  }
  EXPECT_EQ(tagged(), 0u);
  add(kHeap + 1024, 2);
  memory_.put(table + 24, kHeap + 1024 - table);
  EXPECT_EQ(tagged(), 4u);
  memory_.put(table + 24, kHeap + 64 - table);
  EXPECT_EQ(tagged(), 0u) << "two of one block";
}

TEST_F(RelativeTest, TheyStandInOrderAmongOtherPointersOfABlock) {
  for (uint64_t i = 0; i < 4; ++i) {
    hold(kHeap + 64 * i + 32, kHeap + 64 * i);
    memory_.put(kHeap + 64 * i + 32, kHeap);
    memory_.put(kHeap + 64 * i + 48, kHeap + 32);
  }
  const model::HeapScan result = scan();
  ASSERT_EQ(result.pointers_begin[8] - result.pointers_begin[7], 3u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(result.pointers[result.pointers_begin[7] + i].offset, i);
  EXPECT_EQ(result.pointers[result.pointers_begin[7] + 1].kind, PointerKind::kTagged);
}

TEST_F(HeapScannerTest, CodeHoldsBlocksByAnyOfItsBytes) {
  add_block(kHeap + 64, 40);
  for (uint64_t at = 0; at < 9; ++at) {
    memory_.add(kGlobals, 64);
    memory_.put(kGlobals + at, kHeap + 64);
    input_.root_ranges = {{kGlobals, kGlobals + 512, RootKind::kMapping, 0, at % 8 != 0}};
    EXPECT_EQ(scan().roots.size(), 1u) << at;
    memory_.put(kGlobals + at, uint64_t{0});
  }
}

TEST_F(HeapScannerTest, APointerBesideABlockHoldsNothing) {
  add_block(kHeap + 64, 40);
  EXPECT_FALSE(is_held(kHeap + 64 + 41));
  EXPECT_FALSE(is_held(kHeap + 63));
}

TEST_F(HeapScannerTest, APointerBehindABlockIsTheNextOnesStart) {
  add_block(kHeap + 64, 16);
  add_block(kHeap + 80, 16);
  memory_.put(kGlobals, kHeap + 80);
  const model::HeapScan result = scan();
  ASSERT_EQ(result.roots.size(), 1u);
  EXPECT_EQ(result.roots[0].to, 1u);
}

TEST_F(HeapScannerTest, AnEmptyBlockIsHeldByItsAddressAlone) {
  add_block(kHeap + 64, 0);
  EXPECT_EQ(kind_of_root(kHeap + 64), PointerKind::kStart);
  EXPECT_FALSE(is_held(kHeap + 65));
}

TEST_F(HeapScannerTest, BlocksPointToBlocks) {
  const uint32_t a = add_block(kHeap + 64, 32);
  const uint32_t b = add_block(kHeap + 128, 32);
  memory_.put(kHeap + 64 + 8, kHeap + 128);
  memory_.put(kHeap + 64 + 16, kHeap + 128);      // again: kept once
  memory_.put(kHeap + 64 + 24, kHeap + 128 + 8);  // in another way
  memory_.put(kHeap + 128, kHeap + 128);          // itself: left out
  memory_.put(kHeap + 96, kHeap + 128);           // between blocks
  const model::HeapScan result = scan();
  EXPECT_EQ(result.pointers_begin, (std::vector<uint32_t>{0, 2, 2}));
  EXPECT_EQ(result.pointers[0].to, b);
  EXPECT_EQ(result.pointers[0].offset, 1u);
  EXPECT_EQ(result.pointers[0].kind, PointerKind::kStart);
  EXPECT_EQ(result.pointers[1].offset, 3u);
  EXPECT_EQ(result.pointers[1].kind, PointerKind::kInterior);
  EXPECT_EQ(result.blocks[a].number, 1u);
}

TEST_F(HeapScannerTest, OnlyWholeWordsOfABlockCount) {
  add_block(kHeap + 64, 15);
  add_block(kHeap + 128, 8);
  memory_.put(kHeap + 64 + 8, kHeap + 128);
  EXPECT_TRUE(scan().pointers.empty());
  input_.blocks[0].size_bytes = 16;
  EXPECT_EQ(scan().pointers.size(), 1u);
}

TEST_F(HeapScannerTest, AManyTimesHeldBlockIsKeptOnceForEachBlock) {
  add_block(kHeap, 8 * 4000);
  for (uint64_t i = 0; i < 100; ++i) add_block(kHeap + 8 * 4000 + i * 16, 16);
  for (uint64_t i = 0; i < 4000; ++i) memory_.put(kHeap + i * 8, kHeap + 8 * 4000 + i % 100 * 16);
  EXPECT_EQ(scan().pointers.size(), 100u);
}

// Blocks of 64 bytes, and globals that point into them.
class HeaderTest : public HeapScannerTest {
 protected:
  static constexpr uint64_t kBlockBytes = 64;

  // A block of this site that a global points into, at the offset.
  uint64_t hold(uint64_t offset, model::SiteId site = 7) {
    const uint64_t address = kHeap + input_.blocks.size() * kBlockBytes;
    input_.blocks[add_block(address, kBlockBytes)].site = site;
    point_to(address + offset);
    return address;
  }
  void point_to(uint64_t value) { memory_.put(kGlobals + 8 * globals_++, value); }

  // How many roots are pointers behind headers.
  size_t behind_headers() {
    const model::HeapScan result = scan();
    EXPECT_EQ(result.roots.size(), globals_);
    return static_cast<size_t>(std::ranges::count(result.roots, PointerKind::kHeader, &model::RootPointer::kind));
  }

  size_t globals_ = 0;
};

TEST_F(HeaderTest, IsWhatFourBlocksOfAStackAgreeIn) {
  for (int i = 0; i < 3; ++i) hold(16);
  EXPECT_EQ(behind_headers(), 0u);
  hold(16);
  EXPECT_EQ(behind_headers(), 4u);
}

TEST_F(HeaderTest, DiffersFromStackToStack) {
  for (int i = 0; i < 4; ++i) hold(16, 1);
  for (int i = 0; i < 5; ++i) hold(11, 2);
  for (int i = 0; i < 3; ++i) hold(16, 3);
  EXPECT_EQ(behind_headers(), 9u);
}

TEST_F(HeaderTest, IsWhatTheCallsOfSeveralStacksAgreeIn) {
  for (model::SiteId site = 1; site <= 4; ++site) hold(16, site);
  hold(16, 5);
  EXPECT_EQ(behind_headers(), 0u);
  input_.calls[0] = {kNoCall, 3, 3, 3, 3};  // of site 5 it isn't known
  EXPECT_EQ(behind_headers(), 4u);
  hold(16, 6);
  input_.calls[0] = {kNoCall, 3, 3, 2, 2, 3, 2};
  EXPECT_EQ(behind_headers(), 0u);
}

TEST_F(HeaderTest, IsWhatCallersOfOneFunctionAgreeInEachForItself) {
  for (model::SiteId site = 1; site <= 8; ++site) hold(site <= 4 ? 16 : 32, site);
  input_.calls[0] = {kNoCall, 0, 0, 0, 0, 0, 0, 0, 0};  // a wrapper
  EXPECT_EQ(behind_headers(), 0u);
  for (size_t level = 1; level < kCallLevels; ++level) {
    input_.calls[level] = {kNoCall, 1, 1, 1, 1, 2, 2, 2, 2};
    EXPECT_EQ(behind_headers(), 8u) << level;
    input_.calls[level].clear();
  }
}

// Operands in front of an object, as many as it has.
TEST_F(HeaderTest, MayBeOfAnyLengthWhereWhatIsBehindItHasOne) {
  constexpr uint64_t kObjectBytes = 24;
  for (const uint64_t operands : {0, 8, 16, 40}) {
    const uint64_t address = kHeap + input_.blocks.size() * 128;
    input_.blocks[add_block(address, operands + 8 + kObjectBytes)].site = 7;
    point_to(address + operands + 8);
  }
  EXPECT_EQ(behind_headers(), 4u);
  point_to(input_.blocks[0].address);  // its first operand is pointed to as well, which says nothing about the others
  const model::HeapScan result = scan();
  EXPECT_EQ(std::ranges::count(result.roots, PointerKind::kHeader, &model::RootPointer::kind), 0)
      << "three are too few";
}

TEST_F(HeaderTest, OneOfSixteenMayBeHeldElsewhereAndIsNotBehindIt) {
  for (int i = 0; i < 15; ++i) hold(16);
  hold(24);
  EXPECT_EQ(behind_headers(), 0u);
  hold(16);
  EXPECT_EQ(behind_headers(), 16u);
  hold(24);
  EXPECT_EQ(behind_headers(), 0u);
}

TEST_F(HeaderTest, PointersToStartsSpeakAgainstIt) {
  for (int i = 0; i < 8; ++i) hold(16);
  const uint64_t both = hold(16);
  EXPECT_EQ(behind_headers(), 9u);
  point_to(both);
  EXPECT_EQ(behind_headers(), 0u);
}

// Some of GLib's types have a number of flags there, by which the rest of the block can be divided.
TEST_F(HeaderTest, MayLookLikeTheCookieOfAnArrayInSomeBlocks) {
  const uint64_t lengths[] = {7, 1, 5, 8, 6};  // 56 bytes are so many elements, or aren't
  for (const uint64_t length : lengths) memory_.put(hold(8), length);
  const auto held = [this](PointerKind kind) {
    const model::HeapScan result = scan();
    return std::ranges::count(result.roots, kind, &model::RootPointer::kind);
  };
  EXPECT_EQ(held(PointerKind::kArrayCookie), 3);
  EXPECT_EQ(held(PointerKind::kHeader), 2);
  hold(24);
  EXPECT_EQ(held(PointerKind::kArrayCookie), 3);
  EXPECT_EQ(held(PointerKind::kHeader), 0);
}

TEST_F(HeaderTest, IsNoLongerThanAPage) {
  input_.blocks.clear();
  for (uint64_t i = 0; i < 4; ++i) add_block(kHeap + i * 8192, 8192);
  for (const uint64_t offset : {uint64_t{4096}, uint64_t{4097}}) {
    globals_ = 0;
    for (uint64_t i = 0; i < 4; ++i) point_to(kHeap + i * 8192 + offset);
    EXPECT_EQ(behind_headers(), offset == 4096 ? 4u : 0u);
  }
}

// A hash table's slots, a fifth of the block, before its entries.
class ShareTest : public HeaderTest {
 protected:
  uint64_t add_table(uint64_t bytes) {
    const uint64_t address = next_;
    next_ += (bytes + 31) / 16 * 16;
    add_block(address, bytes);
    return address;
  }
  // A block of 40 bytes a slot, with a pointer behind so many bytes a slot.
  uint64_t hold_table(uint64_t slots, uint64_t bytes_before = 8) {
    const uint64_t address = add_table(40 * slots);
    point_to(address + bytes_before * slots);
    return address;
  }
  void hold_tables() {
    for (const uint64_t slots : {4, 8, 16, 128, 4, 8, 16, 4}) hold_table(slots);
  }
  void point_from_block(uint64_t value) { memory_.put(add_table(8), value); }

  uint64_t next_ = kHeap;
};

TEST_F(ShareTest, IsWhatEightBlocksOfThreeMagnitudesAgreeIn) {
  for (const uint64_t slots : {4, 8, 16, 128, 4, 8, 16}) hold_table(slots);
  EXPECT_EQ(behind_headers(), 0u);
  hold_table(64);
  EXPECT_EQ(behind_headers(), 8u);
}

TEST_F(ShareTest, IsNoneOfBlocksOfTwoMagnitudes) {
  for (const uint64_t slots : {129, 130, 133, 135, 136, 64, 66, 67}) hold_table(slots);
  EXPECT_EQ(behind_headers(), 0u);
  hold_table(32);
  EXPECT_EQ(behind_headers(), 9u);
}

TEST_F(ShareTest, MayBeLongerThanAPage) {
  hold_tables();
  hold_table(600);
  EXPECT_EQ(behind_headers(), 9u);
}

TEST_F(ShareTest, IsNoPowerOfTwoAndNoSmallPart) {
  for (const uint64_t bytes_before : {20, 10, 5, 2}) {
    for (const uint64_t slots : {8, 16, 32, 64, 8, 16, 32, 64}) hold_table(slots, bytes_before);
    EXPECT_EQ(behind_headers(), 0u) << bytes_before;
    input_.blocks.clear();
    next_ = kHeap;
    globals_ = 0;
  }
}

TEST_F(ShareTest, HoldsWhatLeadsThereAlone) {
  hold_tables();
  hold_table(8, 16);  // behind the first entry
  EXPECT_EQ(behind_headers(), 0u) << "one of sixteen may be held elsewhere";
  for (int i = 0; i < 8; ++i) hold_table(16);
  EXPECT_EQ(behind_headers(), 16u) << "and is not behind it";
}

TEST_F(ShareTest, PointersToStartsSpeakAgainstIt) {
  hold_tables();
  const uint64_t both = hold_table(8);
  EXPECT_EQ(behind_headers(), 9u);
  point_to(both);
  EXPECT_EQ(behind_headers(), 0u);
}

TEST_F(ShareTest, WordsThatLeadBeforeItMayBeChanceInOneOfFourBlocks) {
  hold_tables();
  for (const uint64_t slots : {8, 128}) point_from_block(hold_table(slots) + 12);
  EXPECT_EQ(behind_headers(), 10u);
  point_from_block(hold_table(8) + 16);
  EXPECT_EQ(behind_headers(), 0u);
}

TEST_F(ShareTest, IsNotAgreedInByElementsThatNearlyAllHavePointers) {
  uint64_t left_out = 0;
  for (const uint64_t count : {15, 30, 60, 15, 30, 60, 15, 30}) {
    const uint64_t elements = add_table(16 * count);
    for (uint64_t n = 1 + left_out % 4; n < count - left_out % 4; ++n) point_from_block(elements + 16 * n);
    ++left_out;
  }
  const model::HeapScan result = scan();
  EXPECT_GT(result.pointers.size(), 150u);
  EXPECT_EQ(std::ranges::count(result.pointers, PointerKind::kHeader, &model::BlockPointer::kind), 0);
}

TEST_F(HeaderTest, WhatPointsFurtherBehindMayStillBeChance) {
  for (int i = 0; i < 16; ++i) hold(16);
  const uint64_t list = hold(40);
  // A list that is lost: each block points behind the header of the next one.
  for (uint64_t i = 0; i < 3; ++i) {
    add_block(list + (i + 1) * kBlockBytes, kBlockBytes);
    memory_.put(list + i * kBlockBytes + 16, list + (i + 1) * kBlockBytes + 16);
  }
  const model::HeapScan result = scan();
  EXPECT_EQ(result.roots.back().kind, PointerKind::kInterior);
  ASSERT_EQ(result.pointers.size(), 3u);
  for (const model::BlockPointer& pointer : result.pointers) EXPECT_EQ(pointer.kind, PointerKind::kHeader);
  const leaks::Classification classes = leaks::classify(result);
  EXPECT_EQ(classes.total(leaks::BlockState::kReachable).blocks, 16u);
  EXPECT_EQ(classes.total(leaks::BlockState::kPossible).blocks, 4u);
}

// Of the words of one block (or of one kind of root) that lead to another one the first is kept, whichever offset it has.
TEST_F(HeaderTest, TheFirstByteThatIsPointedAtCounts) {
  const uint32_t holder = add_block(kHeap + 32768, 4096);
  uint64_t word = kHeap + 32768;
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t address = kHeap + i * kBlockBytes;
    add_block(address, kBlockBytes);
    for (const uint64_t offset : {48, 16, 32}) memory_.put(std::exchange(word, word + 8), address + offset);
  }
  const model::HeapScan result = scan();
  ASSERT_EQ(result.pointers.size(), 40u);
  for (const model::BlockPointer& pointer : result.pointers) EXPECT_EQ(pointer.kind, PointerKind::kHeader);
  EXPECT_EQ(result.blocks.back().number, holder + 1);
}

// Addresses of the roots that lead to the block with this index.
std::vector<uint64_t> roots_of(const model::HeapScan& scan, uint32_t block) {
  std::vector<uint64_t> addresses;
  for (const model::RootPointer& root : scan.roots) {
    if (root.to == block) addresses.push_back(root.address);
  }
  return addresses;
}

TEST_F(HeapScannerTest, KeepsTheFirstWordsOfGlobalsWithABlocksStartAndTheLast) {
  add_block(kHeap, 64);
  add_block(kHeap + 128, 64);
  memory_.put(kGlobals, kHeap);
  memory_.put(kGlobals + 16, kHeap + 128);
  memory_.put(kGlobals + 48, kHeap);
  EXPECT_EQ(roots_of(scan(), 0), (std::vector{kGlobals, kGlobals + 48}));
  EXPECT_EQ(roots_of(scan(), 1), std::vector{kGlobals + 16});
  for (uint64_t word = 0; word < 40; ++word) memory_.put(kGlobals + 8 * word, kHeap);
  EXPECT_EQ(roots_of(scan(), 0), (std::vector{kGlobals, kGlobals + 8, kGlobals + 16, kGlobals + 8 * 39}));
}

TEST_F(HeapScannerTest, KeepsOneWordOfAllOtherRoots) {
  const auto roots = [&] { return scan().roots.size(); };
  add_block(kHeap, 64);
  memory_.put(kGlobals, kHeap + 16);
  memory_.put(kGlobals + 8, kHeap + 24);
  EXPECT_EQ(roots(), 1u) << "into the block";
  memory_.put(kGlobals, kHeap);
  memory_.put(kGlobals + 8, kHeap);
  EXPECT_EQ(roots(), 2u);
  for (const RootKind kind : {RootKind::kStack, RootKind::kThreadLocal, RootKind::kMapping}) {
    input_.root_ranges[0].kind = kind;
    EXPECT_EQ(roots(), 1u);
  }
}

// Blocks of 32 bytes, 16 bytes apart, and pointers to their ends.
class EndTest : public HeapScannerTest {
 protected:
  static constexpr uint64_t kBytes = 32;

  uint64_t place(uint64_t bytes = kBytes, model::SiteId site = 7) {
    const uint64_t address = next_;
    input_.blocks[add_block(address, bytes)].site = site;
    next_ = (address + bytes + 31) / 16 * 16;
    return address;
  }
  void point_to(uint64_t value) { memory_.put(kGlobals + 8 * globals_++, value); }
  // Blocks of this site that globals point into, behind a header.
  void hold_behind(uint64_t header_bytes, uint32_t count, model::SiteId site = 7) {
    for (uint32_t i = 0; i < count; ++i) point_to(place(header_bytes + 64, site) + header_bytes);
  }
  // State of the block with this address.
  leaks::BlockState state_of(uint64_t address) {
    const model::HeapScan result = scan();
    const auto block = std::ranges::find(result.blocks, address, &model::ScannedBlock::address);
    return leaks::classify(result).states[static_cast<size_t>(block - result.blocks.begin())];
  }

  uint64_t next_ = kHeap + 64;
  size_t globals_ = 0;
};

TEST_F(EndTest, MayBeChance) {
  const uint64_t block = place();
  EXPECT_EQ(state_of(block), leaks::BlockState::kDefinite);
  point_to(block + kBytes);
  EXPECT_EQ(state_of(block), leaks::BlockState::kPossible);
  EXPECT_EQ(scan().roots.at(0).kind, PointerKind::kInterior);
  EXPECT_EQ(scan().roots.at(0).address, kGlobals);
}

TEST_F(EndTest, IsOneByteBehindTheBlockAndNoOther) {
  const uint64_t block = place();
  for (const uint64_t beside : {uint64_t{1}, uint64_t{8}, uint64_t{15}}) {
    memory_.put(kGlobals, block + kBytes + beside);
    EXPECT_EQ(state_of(block), leaks::BlockState::kDefinite) << beside;
  }
  memory_.put(kGlobals, (block + kBytes) | uint64_t{1} << 50);
  EXPECT_EQ(state_of(block), leaks::BlockState::kDefinite) << "with a tag it is chance";
}

TEST_F(EndTest, IsBelievedWhereNothingIsBehindAHeader) {
  hold_behind(kBytes, 3);
  const uint64_t block = place();
  point_to(block + kBytes);
  EXPECT_EQ(state_of(block), leaks::BlockState::kPossible) << "three are too few, and it has no say itself";
  hold_behind(kBytes, 1);
  EXPECT_EQ(state_of(block), leaks::BlockState::kReachable);
}

TEST_F(EndTest, IsBelievedOfOneCallsBlocks) {
  hold_behind(kBytes, 4, 1);
  const uint64_t block = place(kBytes, 2);
  const uint64_t other = place(kBytes, 3);
  point_to(block + kBytes);
  point_to(other + kBytes);
  input_.calls[0] = {kNoCall, 5, 5, 6};
  EXPECT_EQ(state_of(block), leaks::BlockState::kReachable);
  EXPECT_EQ(state_of(other), leaks::BlockState::kPossible);
}

TEST_F(EndTest, IsNotBelievedWhereAHeaderHasAnotherLength) {
  hold_behind(kBytes, 8);
  const uint64_t block = place(kBytes + 16);
  point_to(block + kBytes + 16);
  EXPECT_EQ(state_of(block), leaks::BlockState::kPossible);
}

TEST_F(EndTest, NeverVotesForAHeader) {
  for (int i = 0; i < 16; ++i) point_to(place() + kBytes);
  point_to(place(64) + kBytes);
  const model::HeapScan result = scan();
  EXPECT_EQ(result.roots.size(), 17u);
  EXPECT_EQ(std::ranges::count(result.roots, PointerKind::kInterior, &model::RootPointer::kind), 17);
}

TEST_F(EndTest, IsTheStartOfTheBlockThatBeginsThere) {
  const uint64_t block = place();
  const uint64_t next = next_ = block + kBytes;
  place();
  point_to(next);
  EXPECT_EQ(state_of(block), leaks::BlockState::kDefinite);
  EXPECT_EQ(state_of(next), leaks::BlockState::kReachable);
}

TEST_F(EndTest, SaysNothingWhereBlocksTouch) {
  const uint64_t block = place();
  point_to(block + kBytes);
  EXPECT_EQ(state_of(block), leaks::BlockState::kPossible);
  next_ = kHeap + 4096;
  place();
  next_ = kHeap + 4096 + kBytes;
  place();
  EXPECT_EQ(state_of(block), leaks::BlockState::kDefinite) << "a block may have been released there";
  hold_behind(kBytes, 4);
  EXPECT_EQ(state_of(block), leaks::BlockState::kReachable);
}

TEST_F(EndTest, SaysNothingOfABlockThatFillsItsPages) {
  add_block(kHeap + 16, 4096 - 16);
  add_block(kHeap + 4096 + 32, 4096 - 32 - 48);
  point_to(kHeap + 4096);
  point_to(kHeap + 8192 - 48);
  EXPECT_EQ(state_of(kHeap + 16), leaks::BlockState::kDefinite);
  EXPECT_EQ(state_of(kHeap + 4096 + 32), leaks::BlockState::kPossible);
}

TEST_F(EndTest, OfTheLastOfPackedBlocksIsWhereABumpAllocatorGoesOn) {
  add_block(kHeap, 100);
  add_block(kHeap + 104, 6);
  add_block(kHeap + 112, 30);
  const uint64_t last = kHeap + 144;
  add_block(last, kBytes + 1);
  point_to(last + kBytes + 1);
  EXPECT_EQ(state_of(last), leaks::BlockState::kDefinite);
  memory_.put(kGlobals + 128, last + kBytes + 1);
  EXPECT_EQ(state_of(last), leaks::BlockState::kPossible) << "it has one such word";
  memory_.put(kGlobals + 128, 0);
  input_.root_ranges[0].kind = RootKind::kThreadLocal;
  EXPECT_EQ(state_of(last), leaks::BlockState::kPossible) << "no allocator for all threads has its words there";
  input_.root_ranges[0].kind = RootKind::kGlobal;
  input_.blocks[0].address += 16;
  input_.blocks[0].size_bytes -= 16;
  EXPECT_EQ(state_of(last), leaks::BlockState::kPossible) << "the first one isn't at a page's start";
  input_.blocks[0].address -= 16;
  input_.blocks[0].size_bytes += 16;
  input_.blocks[2].size_bytes = 12;
  EXPECT_EQ(state_of(last), leaks::BlockState::kPossible) << "more than alignment lies between two of them";
  input_.blocks.erase(input_.blocks.begin(), input_.blocks.end() - 1);
  EXPECT_EQ(state_of(last), leaks::BlockState::kPossible) << "it is none of several";
  memory_.put(kGlobals, 0);
  add_block(kHeap, 64);
  point_to(kHeap);
  memory_.put(kHeap, last + kBytes + 1);
  EXPECT_EQ(state_of(last), leaks::BlockState::kPossible) << "a block is no allocator's";
}

TEST_F(EndTest, SaysNothingOfABlockThatIsPointedAt) {
  const uint64_t held = place();
  const uint64_t inside = place();
  const uint64_t below = place();
  const uint64_t lost = place();
  memory_.put(lost, below);
  for (const uint64_t block : {held, inside, below}) point_to(block + kBytes);
  point_to(held);
  point_to(inside + 8);
  const model::HeapScan result = scan();
  EXPECT_EQ(result.roots.size(), 2u);
  EXPECT_EQ(leaks::classify(result).total(leaks::BlockState::kIndirect).blocks, 1u)
      << "what is lost below another one stays so";
}

TEST_F(EndTest, OfBlocksIsKeptOnceAndInItsPlace) {
  const uint64_t holder = place(64);
  const uint64_t ended = place();
  const uint64_t other = place();
  point_to(holder);
  memory_.put(holder + 8, ended + kBytes);
  memory_.put(holder + 16, other);
  memory_.put(holder + 24, ended + kBytes);
  memory_.put(other, holder + 64);  // is held by its start
  memory_.put(ended, ended + kBytes);
  const model::HeapScan result = scan();
  ASSERT_EQ(result.pointers_begin, (std::vector<uint32_t>{0, 2, 2, 2}));
  EXPECT_EQ(std::pair(result.pointers[0].to, result.pointers[0].offset), std::pair(1u, 1u));
  EXPECT_EQ(result.pointers[0].kind, PointerKind::kInterior);
  EXPECT_EQ(std::pair(result.pointers[1].to, result.pointers[1].offset), std::pair(2u, 2u));
  EXPECT_EQ(state_of(ended), leaks::BlockState::kPossible);
}

TEST_F(EndTest, InAVectorThatIsFullIsNoOtherPointer) {
  const uint64_t vector = place(24);
  const uint64_t elements = place();
  point_to(vector);
  memory_.put(vector, elements);
  memory_.put(vector + 8, elements + kBytes);
  memory_.put(vector + 16, elements + kBytes);
  EXPECT_EQ(scan().pointers.size(), 1u);
}

TEST_F(EndTest, OnAStackOrInARegisterIsALoopsRest) {
  const uint64_t block = place();
  memory_.put(kStack, block + kBytes);
  input_.root_words.push_back({.value = block + kBytes, .thread_id = kThread, .register_number = 3});
  for (const RootKind kind : {RootKind::kStack, RootKind::kAlternateStack, RootKind::kContextStack}) {
    input_.root_ranges = {{kStack, kStack + 512, kind, kThread}};
    EXPECT_EQ(state_of(block), leaks::BlockState::kDefinite);
  }
  for (const RootKind kind : {RootKind::kGlobal, RootKind::kMapping, RootKind::kThreadLocal}) {
    input_.root_ranges = {{kStack, kStack + 512, kind, kThread}};
    EXPECT_EQ(state_of(block), leaks::BlockState::kPossible);
  }
}

TEST_F(EndTest, OfARootNamesItsThread) {
  point_to(0);
  input_.root_ranges = {{kStack, kStack + 512, RootKind::kThreadLocal, kThread}};
  memory_.put(kStack, place() + kBytes);
  EXPECT_EQ(scan().roots.at(0).thread, 3u);
}

TEST_F(EndTest, IsFoundWithoutRoomForCandidates) {
  const uint64_t holder = place(64);
  point_to(holder);
  memory_.put(holder, place() + kBytes);
  point_to(place() + kBytes);
  const model::HeapScan result = scan({.candidate_bytes = 0});
  EXPECT_EQ(result.pointers.size(), 1u);
  EXPECT_EQ(result.roots.size(), 2u);
}

// Objects of several classes, made by one call; class records, made by another one.
class ObjectTest : public HeapScannerTest {
 protected:
  static constexpr model::SiteId kObjects = 1;
  static constexpr model::SiteId kRecords = 2;
  static constexpr model::SiteId kOthers = 3;

  ObjectTest() { tell_calls({kNoCall, 11, 12, 13}); }

  void tell_calls(const SiteCalls& calls) {
    for (SiteCalls& level : input_.calls) level = calls;
  }
  void point_to(uint64_t value) { memory_.put(kGlobals + 8 * globals_++, value); }

  uint64_t place(uint64_t size, model::SiteId site) {
    const uint64_t address = kHeap + input_.blocks.size() * 256;
    input_.blocks[add_block(address, size)].site = site;
    return address;
  }
  // What objects of a class share.
  uint64_t record(model::SiteId site = kRecords) {
    const uint64_t address = place(64, site);
    point_to(address);
    return address;
  }
  // Its address; each has another size, as those of a class with so much private data have.
  uint64_t object(uint64_t private_bytes, uint64_t record_address, model::SiteId site = kObjects) {
    const uint64_t address = place(private_bytes + 24 + 8 * (input_.blocks.size() % 5), site) + private_bytes;
    memory_.put(address, record_address);
    return address;
  }
  void hold_objects(std::initializer_list<uint64_t> private_bytes) {
    for (const uint64_t bytes : private_bytes) point_to(object(bytes, record()));
  }
  size_t held_objects() {
    const model::HeapScan result = scan();
    return static_cast<size_t>(std::ranges::count(result.roots, PointerKind::kHeader, &model::RootPointer::kind));
  }

  size_t globals_ = 0;
};

TEST_F(ObjectTest, IsWhatBeginsWithAPointerToAClassRecordBehindPrivateDataOfAnyLength) {
  hold_objects({8, 40, 16});
  EXPECT_EQ(held_objects(), 0u) << "three are too few";
  hold_objects({72});
  EXPECT_EQ(held_objects(), 4u);
}

TEST_F(ObjectTest, IsAgreedInAlsoWhereOthersHaveNoPrivateData) {
  hold_objects({8, 40, 0, 0, 16, 0, 72, 0, 0, 0});
  EXPECT_EQ(held_objects(), 4u);
  EXPECT_EQ(std::ranges::count(scan().roots, PointerKind::kInterior, &model::RootPointer::kind), 0);
}

TEST_F(ObjectTest, IsAgreedInByObjectsWithoutPrivateDataAsWell) {
  hold_objects({0, 0, 16});
  EXPECT_EQ(held_objects(), 0u) << "three are too few";
  hold_objects({0});
  EXPECT_EQ(held_objects(), 1u);
}

TEST_F(ObjectTest, PointersElsewhereSpeakAgainstIt) {
  hold_objects({8, 40, 16, 72});
  point_to(object(32, record()) + 8);
  EXPECT_EQ(held_objects(), 0u);
}

TEST_F(ObjectTest, PointersToStartsSpeakAgainstIt) {
  hold_objects({8, 40, 16, 72});
  point_to(object(32, record()) - 32);
  EXPECT_EQ(held_objects(), 0u);
}

TEST_F(ObjectTest, AStaleWordIntoALostOneIsNoPointerToIt) {
  for (int i = 0; i < 4; ++i) hold_objects({8, 40, 16, 72});
  const uint64_t lost = object(32, record());
  point_to(lost + 16);
  const model::HeapScan result = scan();
  EXPECT_EQ(std::ranges::count(result.roots, PointerKind::kHeader, &model::RootPointer::kind), 16);
  EXPECT_EQ(result.roots.back().kind, PointerKind::kInterior);
  EXPECT_EQ(leaks::classify(result).total(leaks::BlockState::kPossible).blocks, 1u);
}

TEST_F(ObjectTest, IsLostWhereNothingPointsToIt) {
  hold_objects({8, 40, 16, 72});
  const uint64_t first = object(16, record());
  memory_.put(first + 8, object(24, record()));  // and holds another one
  const leaks::Classification classes = leaks::classify(scan());
  EXPECT_EQ(classes.total(leaks::BlockState::kDefinite).blocks, 1u);
  EXPECT_EQ(classes.total(leaks::BlockState::kIndirect).blocks, 1u);
}

TEST_F(ObjectTest, HasAClassRecordThatOneCallMakes) {
  tell_calls({kNoCall, 11, 12, 13, 14, 15, 16});
  model::SiteId maker = kRecords;
  for (const uint64_t bytes : {8, 40, 16, 72}) point_to(object(bytes, record(++maker)));
  EXPECT_EQ(held_objects(), 0u);
  tell_calls({kNoCall, 11, 12, 12, 12, 12, 12});
  EXPECT_EQ(held_objects(), 4u);
  tell_calls({kNoCall, 11, kNoCall, kNoCall, kNoCall, kNoCall, kNoCall});
  EXPECT_EQ(held_objects(), 0u) << "nobody knows who makes them";
  tell_calls({kNoCall, 11, 11, 11, 11, 11, 11});
  EXPECT_EQ(held_objects(), 0u) << "they would be objects themselves, as nodes of a list";
}

TEST_F(ObjectTest, HasAClassRecordMadeElsewhereIfAllDescriptionsOfTypesAreMadeByOneCall) {
  constexpr model::SiteId kDescriptions = 9;
  tell_calls({kNoCall, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  std::vector<uint64_t> records;
  for (const model::SiteId maker : {4u, 5u, 6u, 7u}) records.push_back(record(maker));
  for (size_t i = 0; i < records.size(); ++i) point_to(object(8 + 16 * i, records[i]));
  EXPECT_EQ(held_objects(), 0u) << "four makers";
  std::vector<uint64_t> descriptions;
  for (const uint64_t record_address : records) {
    descriptions.push_back(place(96, kDescriptions));
    memory_.put(record_address, descriptions.back());
  }
  EXPECT_EQ(held_objects(), 4u);
  memory_.put(records[2], 0);
  EXPECT_EQ(held_objects(), 0u) << "three are too few";
  memory_.put(records[2], descriptions[2] + 8);
  EXPECT_EQ(held_objects(), 0u) << "a record begins with the start of a description";
  memory_.put(records[2], place(96, 10));
  EXPECT_EQ(held_objects(), 0u) << "of another maker";
}

TEST_F(ObjectTest, IsNotDescribedByObjects) {
  tell_calls({kNoCall, 11, 12, 13, 14, 15, 16, 17});
  for (const model::SiteId maker : {4u, 5u, 6u, 7u}) {
    const uint64_t child = record(maker);
    const uint64_t owner = object(8 + 16 * maker, child);
    memory_.put(child, place(32, kObjects));  // another object, as a way back to an owner would be
    point_to(owner);
  }
  EXPECT_EQ(held_objects(), 0u);
}

TEST_F(ObjectTest, HasOneRecordOfADescribedType) {
  constexpr model::SiteId kDescriptions = 9;
  tell_calls({kNoCall, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  for (const model::SiteId maker : {4u, 5u, 6u, 7u}) {
    const uint64_t array = place(64, kObjects);
    for (const uint64_t at : {array + uint64_t{8} * maker, array + 8}) {
      memory_.put(at, record(at == array + 8 ? 8 : maker));
      memory_.put(memory_.get(at), place(96, kDescriptions));
    }
    point_to(array + uint64_t{8} * maker);
  }
  EXPECT_EQ(held_objects(), 0u) << "any of several words would do";
}

TEST_F(ObjectTest, IsNoPlaceInAnArrayOfPointers) {
  for (const uint64_t cursor : {1, 2, 3, 5}) {
    const uint64_t array = place(64 + 16 * cursor, kObjects);  // as far from the end in no two
    for (uint64_t i = 0; i < 8; ++i) memory_.put(array + 8 * i, record());
    point_to(array + 8 * cursor);
  }
  EXPECT_EQ(held_objects(), 0u);
}

TEST_F(ObjectTest, IsAgreedInByTheObjectsOfOneCall) {
  tell_calls({kNoCall, 11, 12, 13, 14, 15, 16, 17});
  model::SiteId site = kOthers;
  for (const uint64_t bytes : {8, 40, 16, 72}) point_to(object(bytes, record(), ++site));
  EXPECT_EQ(held_objects(), 0u);
  input_.calls.back() = {kNoCall, 11, 12, 13, 14, 14, 14, 14};
  EXPECT_EQ(held_objects(), 4u);
}

TEST_F(ObjectTest, HasNoMorePrivateDataThanAPage) {
  for (const uint64_t bytes : {uint64_t{4096}, uint64_t{4104}}) {
    input_.blocks.clear();
    globals_ = 0;
    std::vector<uint64_t> records;
    for (int i = 0; i < 4; ++i) records.push_back(record());
    for (uint64_t i = 0; i < 4; ++i) {
      const uint64_t address = kHeap + 8192 * (i + 1);
      input_.blocks[add_block(address, bytes + 24 + 8 * i * i)].site = kObjects;
      memory_.put(address + bytes - 8 * i, records[i]);
      point_to(address + bytes - 8 * i);
    }
    EXPECT_EQ(held_objects(), bytes == 4096 ? 4u : 0u);
    for (uint64_t i = 0; i < 4; ++i) memory_.put(kHeap + 8192 * (i + 1) + bytes - 8 * i, 0);
  }
}

TEST_F(HeapScannerTest, BlocksMayComeInAnyOrder) {
  add_block(kHeap + 128, 8);
  add_block(kHeap + 64, 8);
  add_block(kHeap + 128, 16);
  const model::HeapScan result = scan();
  ASSERT_EQ(result.blocks.size(), 2u);
  EXPECT_EQ(result.blocks[0].address, kHeap + 64);
  EXPECT_EQ(result.blocks[1].number, 3u);
}

TEST_F(HeapScannerTest, BlocksThatCantBeAreLeftOutAndSaid) {
  add_block(kHeap, 16);
  add_block(~uint64_t{0} - 4, 16);
  add_block(kHeap + 64, ~uint64_t{0});
  const model::HeapScan result = scan();
  EXPECT_EQ(result.blocks.size(), 1u);
  EXPECT_EQ(result.notes.size(), 1u);
}

TEST_F(HeapScannerTest, KnowsTheCookieOfAnArray) {
  add_block(kHeap, 8 + 5 * 12);
  memory_.put(kHeap, 5);
  EXPECT_EQ(kind_of_root(kHeap + 8), PointerKind::kArrayCookie);
  EXPECT_EQ(kind_of_root(kHeap + 16), PointerKind::kInterior);
  memory_.put(kHeap, 7);
  EXPECT_EQ(kind_of_root(kHeap + 8), PointerKind::kInterior);
}

TEST_F(HeapScannerTest, AnEmptyArrayIsHeldByAPointerBehindItsCookie) {
  add_block(kHeap + 64, 8);
  EXPECT_EQ(kind_of_root(kHeap + 72), PointerKind::kArrayCookie);
  memory_.put(kHeap + 64, 1);
  EXPECT_EQ(kind_of_root(kHeap + 72), PointerKind::kInterior) << "its end";
}

TEST_F(HeapScannerTest, KnowsTheOldString) {
  add_block(kHeap, 24 + 31);
  memory_.put(kHeap, 12);
  memory_.put(kHeap + 8, 30);
  EXPECT_EQ(kind_of_root(kHeap + 24), PointerKind::kStdString);
  EXPECT_EQ(kind_of_root(kHeap + 25), PointerKind::kInterior);
  memory_.put(kHeap, 31);  // longer than its capacity
  EXPECT_EQ(kind_of_root(kHeap + 24), PointerKind::kInterior);
}

TEST_F(HeapScannerTest, KnowsALengthInFront) {
  add_block(kHeap, 8 + 100);
  memory_.put(kHeap, 100);
  EXPECT_EQ(kind_of_root(kHeap + 8), PointerKind::kLength64);
}

// As in programs without a position of their own choice: the heap begins a few pages behind the module.
TEST_F(HeapScannerTest, KnowsABaseClassWhoseVtableIsNearTheHeap) {
  constexpr uint64_t kNear = kReadOnly + 0x10000;
  memory_.add(kNear, 512);
  add_block(kNear, 48);
  memory_.put(kNear, kVtable);
  memory_.put(kNear + 16, kOtherVtable);
  EXPECT_EQ(kind_of_root(kNear + 16), PointerKind::kMultipleInheritance);
  EXPECT_EQ(kind_of_root(kNear + 24), PointerKind::kInterior);
}

TEST_F(HeapScannerTest, KnowsABaseClassInside) {
  add_block(kHeap, 48);
  memory_.put(kHeap, kVtable);
  memory_.put(kHeap + 16, kOtherVtable);
  EXPECT_EQ(kind_of_root(kHeap + 16), PointerKind::kMultipleInheritance);
  EXPECT_EQ(kind_of_root(kHeap + 24), PointerKind::kInterior);
  EXPECT_EQ(scan().blocks[0].type, kVtable);
  memory_.put(kHeap, 0);
  EXPECT_EQ(kind_of_root(kHeap + 16), PointerKind::kInterior);
  EXPECT_EQ(scan().blocks[0].type, 0u);
}

TEST_F(HeapScannerTest, OtherReadOnlyDataIsNoVtable) {
  add_block(kHeap, 48);
  memory_.put(kReadOnly + 0x300, 0x6c6c'6568'6f6c'6c65);  // text
  memory_.put(kReadOnly + 0x308, 0x6568'206f'6c6c'6568);
  memory_.put(kHeap, kReadOnly + 0x310);
  EXPECT_EQ(scan().blocks[0].type, 0u);
}

TEST_F(HeapScannerTest, StackRootsNameThreadAndFrame) {
  add_block(kHeap, 16);
  input_.root_ranges.push_back({kStack, kStack + 512, RootKind::kStack, kThread});
  input_.frames = {{kStack + 32, 0x400, kThread}, {kStack + 96, 0x401, kThread}, {kStack + 96, 0x999, 1}};
  memory_.put(kStack + 32, kHeap);
  const model::HeapScan result = scan();
  ASSERT_EQ(result.roots.size(), 1u);
  EXPECT_EQ(result.roots[0].thread, 3u);
  EXPECT_EQ(result.roots[0].frame_code, 0x401u);
  EXPECT_EQ(result.roots[0].address, kStack + 32);
}

TEST_F(HeapScannerTest, RegistersAreRoots) {
  add_block(kHeap, 16);
  input_.root_words = {{kHeap + 8, kThread, 12}, {~uint64_t{0}, kThread, 13}, {0, kThread, 14}};
  const model::HeapScan result = scan();
  ASSERT_EQ(result.roots.size(), 1u);
  EXPECT_EQ(result.roots[0].root, RootKind::kRegister);
  EXPECT_EQ(result.roots[0].kind, PointerKind::kInterior);
  EXPECT_EQ(result.roots[0].address, 12u);
}

TEST_F(HeapScannerTest, ThreadLocalRootsNameTheirModule) {
  add_block(kHeap, 16);
  input_.root_ranges = {{kGlobals, kGlobals + 512, RootKind::kThreadLocal, kThread}};
  input_.thread_local_segments = {{{kGlobals + 64, kGlobals + 128}, 5}};
  memory_.put(kGlobals + 72, kHeap);
  const model::HeapScan result = scan();
  ASSERT_EQ(result.roots.size(), 1u);
  EXPECT_EQ(result.roots[0].module, 5u);
  EXPECT_EQ(result.roots[0].module_offset, 8u);
}

TEST_F(HeapScannerTest, AMappingThatABlockIsInIsNoRoot) {
  add_block(kHeap, 16);
  add_block(kHeap + 64, 16);
  memory_.put(kHeap + 64, kHeap);
  input_.root_ranges = {{kHeap, kHeap + 65536, RootKind::kMapping, 0}};
  EXPECT_TRUE(scan().roots.empty());
  memory_.put(kHeap + 96, kHeap);
  EXPECT_EQ(scan().roots.size(), 1u);
}

TEST_F(HeapScannerTest, UntouchedMemoryIsNotRead) {
  add_block(kHeap, 65536);
  memory_.touch_only({{kHeap + 4096, kHeap + 8192}, {kGlobals, kGlobals + 512}});
  const model::HeapScan result = scan();
  EXPECT_EQ(result.read_bytes, 4096u + 512u);
  EXPECT_EQ(result.skipped_bytes, 65536u - 4096u);
}

TEST_F(HeapScannerTest, UnreadableMemoryIsSteppedOverAndSaid) {
  add_block(kHeap + 60000, 100'000);
  add_block(kHeap, 16);
  memory_.put(kHeap, kHeap + 60000);
  input_.root_ranges.push_back({0x1000, 0x3000, RootKind::kMapping, 0});
  const model::HeapScan result = scan();
  EXPECT_EQ(result.pointers.size(), 1u);
  EXPECT_EQ(result.notes.size(), 1u);
}

// A target of 32 bits, with memory from 0x10000 on, a heap up to the end of its addresses and two vtables.
class ShortWords : public testing::Test {
 protected:
  static constexpr uint64_t kBegin = 0xffff'0000;
  static constexpr uint64_t kData = 0x0804'0000;
  static constexpr uint64_t kConstants = 0x0803'0000;

  ShortWords() {
    memory_.add(kBegin, 8192);
    memory_.add(kData, 64);
    memory_.add(kConstants, 512);
    for (const uint32_t vtable : {0x110u, 0x210u}) {
      memory_.put_short(kConstants + vtable - 4, kConstants + 0x800);
      memory_.put_short(kConstants + vtable, 0x0805'0000);
    }
    memory_.put_short(kConstants + 0x210 - 8, 0u - 8);
    input_.word_bytes = 4;
    input_.read_only_data = {{kConstants, kConstants + 4096}};
    input_.root_ranges = {{kData, kData + 512, RootKind::kGlobal, 0}};
  }

  void add_block(uint64_t address, uint64_t size) {
    const uint32_t number = static_cast<uint32_t>(input_.blocks.size()) + 1;
    input_.blocks.push_back({.address = address, .size_bytes = size, .number = number, .site = 7, .type = 0});
  }

  model::HeapScan scan() {
    HeapScanner scanner(input_);
    scanner.collect(memory_);
    return scanner.resolve();
  }

  PointerKind kind_of_root(uint64_t value) {
    memory_.put_short(kData + 4, static_cast<uint32_t>(value));
    const model::HeapScan result = scan();
    EXPECT_EQ(result.roots.size(), 1u);
    return result.roots.empty() ? PointerKind::kInterior : result.roots[0].kind;
  }

  test::FakeMemory memory_;
  ScanInput input_;
};

TEST_F(ShortWords, ArePointersAtEachFourthByte) {
  add_block(kBegin + 64, 15);
  add_block(kBegin + 128, 16);
  memory_.put_short(kBegin + 64 + 4, kBegin + 128);
  memory_.put_short(kBegin + 64 + 12, kBegin + 128 + 4);  // not a whole word of the block
  memory_.put_short(kData + 4, kBegin + 64);
  const model::HeapScan result = scan();
  ASSERT_EQ(result.pointers.size(), 1u);
  EXPECT_EQ(result.pointers[0].offset, 1u);
  ASSERT_EQ(result.roots.size(), 1u);
  EXPECT_EQ(result.roots[0].address, kData + 4);
}

TEST_F(ShortWords, ReachToTheEndOfAddresses) {
  add_block(kBegin, 16);
  add_block(0xffff'ff00, 0x100);
  EXPECT_EQ(kind_of_root(0xffff'ff00), PointerKind::kStart);
  EXPECT_EQ(kind_of_root(0xffff'ffff), PointerKind::kInterior);
}

TEST_F(ShortWords, FillCookiesAndHeads) {
  add_block(kBegin, 4 + 5 * 12);
  memory_.put_short(kBegin, 5);
  EXPECT_EQ(kind_of_root(kBegin + 4), PointerKind::kArrayCookie);
  EXPECT_EQ(kind_of_root(kBegin + 8), PointerKind::kInterior);
  add_block(kBegin + 128, 12 + 31);  // a string's length, capacity and count
  memory_.put_short(kBegin + 128, 12);
  memory_.put_short(kBegin + 132, 30);
  EXPECT_EQ(kind_of_root(kBegin + 128 + 12), PointerKind::kStdString);
  add_block(kBegin + 256, 4);  // new T[0]
  EXPECT_EQ(kind_of_root(kBegin + 256 + 4), PointerKind::kArrayCookie);
}

TEST_F(ShortWords, ALengthInFrontMayHaveEitherWidth) {
  add_block(kBegin, 108);
  memory_.put_short(kBegin, 104);
  EXPECT_EQ(kind_of_root(kBegin + 4), PointerKind::kLength64);
  EXPECT_EQ(kind_of_root(kBegin + 8), PointerKind::kInterior);
  memory_.put_short(kBegin, 100);
  EXPECT_EQ(kind_of_root(kBegin + 8), PointerKind::kLength64);
  memory_.put_short(kBegin + 4, 1);
  EXPECT_EQ(kind_of_root(kBegin + 8), PointerKind::kInterior);
}

TEST_F(ShortWords, KnowABaseClassInside) {
  add_block(kBegin, 24);
  memory_.put_short(kBegin, kConstants + 0x110);
  memory_.put_short(kBegin + 12, kConstants + 0x210);
  EXPECT_EQ(kind_of_root(kBegin + 12), PointerKind::kMultipleInheritance);
  EXPECT_EQ(kind_of_root(kBegin + 8), PointerKind::kInterior);
  EXPECT_EQ(scan().blocks[0].type, kConstants + 0x110);
}

bool same(const model::HeapScan& a, const model::HeapScan& b) {
  const auto same_pointer = [](const model::BlockPointer& x, const model::BlockPointer& y) {
    return x.to == y.to && x.offset == y.offset && x.kind == y.kind;
  };
  const auto same_root = [](const model::RootPointer& x, const model::RootPointer& y) {
    return x.to == y.to && x.kind == y.kind && x.address == y.address;
  };
  return a.pointers_begin == b.pointers_begin && std::ranges::equal(a.pointers, b.pointers, same_pointer) &&
         std::ranges::equal(a.roots, b.roots, same_root);
}

// Blocks of odd sizes at odd distances, a large one, and words that often point near them.
class RandomHeap : public HeapScannerTest {
 protected:
  void make(uint32_t seed) {
    std::mt19937_64 random(seed);
    constexpr size_t kWords = 200'000;
    memory_.add(kHeap, kWords);
    uint64_t at = kHeap;
    while (at < kHeap + kWords * 8 - 300'000) {
      const uint64_t size = random() % 50 == 0 ? random() % 200'000 : random() % 100;
      add_block(at, size);
      at = (at + size + random() % 40) / 8 * 8 + 16;
    }
    for (size_t i = 0; i < kWords; ++i) {
      const uint64_t value = kHeap - 64 + random() % (kWords * 8);
      const uint64_t small = random() % 4 == 0 ? random() % 120 : kVtable;
      memory_.put(kHeap + i * 8, random() % 3 == 0 ? value : random() % 3 == 0 ? small : random());
    }
    for (size_t i = 0; i < 64; ++i)
      memory_.put(kGlobals + i * 8, input_.blocks[random() % input_.blocks.size()].address + i % 3 * 8);
  }

  [[nodiscard]] uint32_t slow_find(uint64_t address) const {
    for (uint32_t i = 0; i < input_.blocks.size(); ++i) {
      const model::ScannedBlock& block = input_.blocks[i];
      if (address == block.address || (address > block.address && address < block.address + block.size_bytes)) return i;
    }
    return model::kNoBlock;
  }
};

TEST_F(RandomHeap, FindsWhatASlowSearchFinds) {
  make(1);
  const model::HeapScan result = scan();
  for (uint32_t i = 0; i < result.blocks.size(); i += 97) {
    std::vector<uint32_t> expected;
    for (uint64_t at = result.blocks[i].address; at + 8 <= result.blocks[i].address + result.blocks[i].size_bytes;
         at += 8) {
      const uint32_t to = slow_find(memory_.get(at));
      if (to != model::kNoBlock && to != i) expected.push_back(to);
    }
    std::vector<uint32_t> found;
    for (uint32_t p = result.pointers_begin[i]; p < result.pointers_begin[i + 1]; ++p) {
      const model::BlockPointer& pointer = result.pointers[p];
      const model::ScannedBlock& to = result.blocks[pointer.to];
      const bool is_end =
          memory_.get(result.blocks[i].address + uint64_t{8} * pointer.offset) == to.address + to.size_bytes;
      if (!is_end || to.size_bytes == 0) found.push_back(pointer.to);
    }
    for (std::vector<uint32_t>* list : {&expected, &found}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    EXPECT_EQ(found, expected) << i;
  }
}

TEST_F(RandomHeap, TheResultIsTheSameWithoutRoomForCandidates) {
  for (uint32_t seed = 2; seed < 6; ++seed) {
    input_.blocks.clear();
    make(seed);
    const model::HeapScan result = scan();
    EXPECT_GT(result.pointers.size(), 1000u);
    EXPECT_TRUE(same(result, scan({.candidate_bytes = 0})));
    EXPECT_TRUE(same(result, scan({.candidate_bytes = size_t{1} << 20})));
  }
}

TEST(BlockIndex, FindsTheLastBlockBefore) {
  std::mt19937_64 random(6);
  std::vector<model::ScannedBlock> blocks;
  uint64_t at = 0x1000;
  for (uint32_t i = 0; i < 3000; ++i) {
    const uint64_t size = i % 100 == 0 ? random() % (uint64_t{1} << 24) : random() % 300;
    blocks.push_back({.address = at, .size_bytes = size, .number = i, .site = 0, .type = 0});
    at += size + 1 + (random() % 50 == 0 ? random() % (uint64_t{1} << 40) : random() % 64);
  }
  const BlockIndex index(blocks);
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    for (const uint64_t offset : {uint64_t{0}, blocks[i].size_bytes / 2, blocks[i].size_bytes - 1}) {
      if (offset > blocks[i].size_bytes) continue;
      ASSERT_TRUE(index.may_hold(blocks[i].address + offset));
      const BlockIndex::Found found = index.last_before(blocks[i].address + offset);
      ASSERT_EQ(found.block, i);
      if (found.is_start) {
        ASSERT_EQ(offset, 0u);
      }
    }
  }
  EXPECT_FALSE(index.may_hold(0x700000000000));
}

}  // namespace
