// The map from addresses to blocks, against a map of the library. Its memory is what it counts itself.
#include "record/ingest/block_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heaptap::ingest {
namespace {

constexpr uint64_t kHeap = 0x7f00'0000'0000;

Block live_block(uint64_t number, uint64_t size_bytes = 16, model::SiteId site = 2) {
  return {.number = number, .size_bytes = size_bytes, .allocated_at = site, .released_at = Block::kAlive};
}

// An address whose hash begins as this one does, with about 44 bits: the multiples of a Fibonacci number hardly differ in
// their hashes, the less the larger it is, above and below in turns.
uint64_t address_with_hash(uint64_t hash) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  uint64_t eighths = 0;
  uint64_t fibonacci = 1;
  uint64_t next = 2;
  while (next < uint64_t{1} << 44) {
    const auto step = static_cast<int64_t>(fibonacci * kGolden);
    const auto missing = static_cast<int64_t>(hash - eighths * kGolden);
    if ((step < 0) == (missing < 0) && std::abs(step) <= std::abs(missing)) eighths += fibonacci;
    next += std::exchange(fibonacci, next);
  }
  return eighths << 3;
}

TEST(BlockMap, RemembersTheDeadUntilTheirAddressIsUsedAgain) {
  BlockMap blocks;
  EXPECT_FALSE(blocks.find(0x1000));
  EXPECT_FALSE(blocks.find(0x1000).alive());
  blocks.allocate(0x1000, live_block(1, 64, 5));
  ASSERT_TRUE(blocks.find(0x1000).alive());
  EXPECT_EQ(blocks.find(0x1000).number(), 1u);
  EXPECT_EQ(blocks.find(0x1000).allocated_at(), 5u);
  blocks.release(blocks.find(0x1000), 9);
  ASSERT_TRUE(blocks.find(0x1000));
  EXPECT_FALSE(blocks.find(0x1000).alive());
  EXPECT_EQ(blocks.find(0x1000).block().size_bytes, 64u);
  EXPECT_EQ(blocks.find(0x1000).block().allocated_at, 5u);
  EXPECT_EQ(blocks.find(0x1000).block().released_at, 9u);
  blocks.allocate(0x1000, live_block(2, 32, 6));
  EXPECT_EQ(blocks.find(0x1000).number(), 2u);
  EXPECT_TRUE(blocks.find(0x1000).alive());
  EXPECT_EQ(blocks.live_count(), 1u);
}

TEST(BlockMap, OnlyTheLowest48BitsOfAnAddressCount) {
  BlockMap blocks;
  for (const uint64_t address : {0x1000u, 0x1003u}) {
    blocks.allocate(uint64_t{0x1234} << 48 | address, live_block(address));
    EXPECT_EQ(blocks.find(address).number(), address);
  }
}

TEST(BlockMap, ARevivedBlockIsTheOneThatWasReleased) {
  BlockMap blocks;
  for (const uint64_t address : {0x1000u, 0x1001u}) {
    blocks.allocate(address, live_block(7, 64, 5));
    blocks.release(blocks.find(address), 9);
    blocks.revive(blocks.find(address), 7);
    ASSERT_TRUE(blocks.find(address).alive());
    EXPECT_EQ(blocks.find(address).number(), 7u);
    EXPECT_EQ(blocks.find(address).block().size_bytes, 64u);
    EXPECT_EQ(blocks.find(address).allocated_at(), 5u);
  }
  EXPECT_EQ(blocks.live_count(), 2u);
}

TEST(BlockMap, FindsTheLiveBlockAroundAnAddress) {
  BlockMap blocks;
  blocks.allocate(0x1000, live_block(1, 64));
  blocks.allocate(0x2000, live_block(2, 64));
  blocks.release(blocks.find(0x2000), 7);
  ASSERT_TRUE(blocks.find_around(0x103f));
  EXPECT_EQ(blocks.find_around(0x103f)->number, 1u);
  EXPECT_FALSE(blocks.find_around(0x1040));
  EXPECT_FALSE(blocks.find_around(0x1000)) << "its start isn't inside it";
  EXPECT_FALSE(blocks.find_around(0x2010)) << "dead";
  blocks.allocate(0x1011, live_block(3, 8));
  EXPECT_EQ(blocks.find_around(0x1012)->number, 3u) << "the inner one";
}

TEST(BlockMap, WhatDoesNotFitIsExact) {
  const std::vector<Block> large{
      live_block(1, (1 << 22) - 1),
      live_block(1, 1 << 22),
      live_block(1, UINT64_MAX),
      live_block((1ull << 38) - 1),
      live_block(1ull << 38),
      live_block(UINT64_MAX / 2),
      live_block(1, 16, (1 << 22) - 1),
      live_block(1, 16, 1 << 22),
      live_block(1, 16, UINT32_MAX - 1),
      live_block((1ull << 38) - 1, (1 << 22) - 1, (1 << 22) - 1),
  };
  // Of any alignment, and one after the other at the same addresses.
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{8}, uint64_t{0xffff'ffff'ffff}, kHeap}) {
    BlockMap blocks;
    for (const Block& block : large) {
      blocks.allocate(address, block);
      ASSERT_TRUE(blocks.find(address).alive());
      EXPECT_EQ(blocks.live_count(), 1u);
      size_t seen = 0;
      blocks.for_each_live([&](uint64_t at, const Block& one) {
        ++seen;
        EXPECT_EQ(at, address);
        EXPECT_EQ(one.number, block.number);
        EXPECT_EQ(one.size_bytes, block.size_bytes);
        EXPECT_EQ(one.allocated_at, block.allocated_at);
      });
      EXPECT_EQ(seen, 1u);
      blocks.release(blocks.find(address), UINT32_MAX - 1);
      EXPECT_EQ(blocks.find(address).block().size_bytes, block.size_bytes);
      EXPECT_EQ(blocks.find(address).block().allocated_at, block.allocated_at);
      EXPECT_EQ(blocks.find(address).block().released_at, UINT32_MAX - 1);
      blocks.revive(blocks.find(address), block.number);
      EXPECT_EQ(blocks.find(address).number(), block.number);
      blocks.release(blocks.find(address), 3);
    }
  }
}

// Against a map of the library.
class Model {
 public:
  explicit Model(size_t least_remembered) : blocks_(least_remembered) {}

  void allocate(uint64_t address, const Block& block) {
    blocks_.allocate(address, block);
    expected_[address] = block;
    ++live_;
  }
  void release(uint64_t address, model::SiteId site) {
    blocks_.release(blocks_.find(address), site);
    Block& block = expected_.at(address);
    last_number_ = block.number;
    block.released_at = site;
    --live_;
  }
  // Right behind the release.
  void revive(uint64_t address) {
    const BlockMap::Place place = blocks_.find(address);
    ASSERT_TRUE(place);
    blocks_.revive(place, last_number_);
    expected_.at(address).released_at = Block::kAlive;
    ++live_;
  }
  [[nodiscard]] bool is_alive(uint64_t address) const {
    const auto known = expected_.find(address);
    return known != expected_.end() && known->second.alive();
  }
  // Of the released ones some may be forgotten.
  void expect_same(uint64_t address) const {
    const BlockMap::Place place = blocks_.find(address);
    const auto known = expected_.find(address);
    if (known == expected_.end()) {
      ASSERT_FALSE(place);
    } else if (place || known->second.alive()) {
      ASSERT_TRUE(place);
      expect_same(place.block(), known->second);
    }
  }
  static void expect_same(const Block& block, const Block& expected) {
    ASSERT_EQ(block.alive(), expected.alive());
    ASSERT_TRUE(!block.alive() || block.number == expected.number);
    ASSERT_EQ(block.size_bytes, expected.size_bytes);
    ASSERT_EQ(block.allocated_at, expected.allocated_at);
    ASSERT_EQ(block.released_at, expected.released_at);
  }
  void expect_all_same() const {
    ASSERT_EQ(blocks_.live_count(), live_);
    size_t seen = 0;
    blocks_.for_each_live([&](uint64_t address, const Block& block) {
      ++seen;
      expect_same(block, expected_.at(address));
    });
    ASSERT_EQ(seen, live_);
    blocks_.for_each_released([&](uint64_t address, const Block& block) { expect_same(block, expected_.at(address)); });
    for (const auto& [address, block] : expected_) expect_same(address);
  }
  [[nodiscard]] const BlockMap& blocks() const { return blocks_; }
  [[nodiscard]] size_t live() const { return live_; }
  [[nodiscard]] size_t released() const {
    size_t count = 0;
    blocks_.for_each_released([&count](uint64_t, const Block&) { ++count; });
    return count;
  }

 private:
  BlockMap blocks_;
  std::unordered_map<uint64_t, Block> expected_;
  size_t live_ = 0;
  model::BlockNumber last_number_ = 0;
};

// A heap that grows and shrinks, with all kinds of addresses, sizes and sites.
TEST(BlockMap, IsWhatAMapOfTheLibraryIs) {
  Model model(2000);
  std::mt19937_64 random(18);
  const auto any_block = [&random](uint64_t number) {
    return live_block(random() % 50 == 0 ? number << 25 : number, random() % 30 == 0 ? random() : random() % 3000,
                      static_cast<model::SiteId>(random() % 40 == 0 ? random() % 0xffff'fff0 : random() % 5'000'000));
  };
  uint64_t number = 0;
  for (int phase = 0; phase < 6; ++phase) {
    const bool grows = phase % 2 == 0;
    for (int i = 0; i < 60'000; ++i) {
      uint64_t address = kHeap + random() % 30'000 * 16;
      if (random() % 16 == 0) address += random() % 16;
      model.expect_same(address);
      if (model.is_alive(address)) {
        if (grows && random() % 4 != 0) continue;
        model.release(address, static_cast<model::SiteId>(random() % 0xffff'fff0));
        if (random() % 16 == 0) model.revive(address);
      } else if (grows || random() % 4 == 0) {
        model.allocate(address, any_block(++number));
      }
    }
    model.expect_all_same();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(BlockMap, ForgetsNoneOfAFew) {
  BlockMap blocks;
  for (uint64_t i = 1; i <= BlockMap::kLeastRemembered; ++i) {
    blocks.allocate(kHeap + i * 16, live_block(i));
    blocks.release(blocks.find(kHeap + i * 16), 3);
  }
  for (uint64_t i = 1; i <= BlockMap::kLeastRemembered; ++i) ASSERT_TRUE(blocks.find(kHeap + i * 16));
}

TEST(BlockMap, ForgetsOnlyTheDeadWhereTheyAreMany) {
  constexpr size_t kLeast = 5000;
  constexpr uint64_t kCount = 100'000;
  for (const uint64_t odd : {0u, 1u}) {  // packed, and beside
    Model model(kLeast);
    for (uint64_t i = 1; i <= kCount; ++i) {
      model.allocate(kHeap + i * 16 + odd, live_block(i));
      if (i % 100 != 0) model.release(kHeap + i * 16 + odd, 3);
    }
    model.expect_all_same();
    EXPECT_LT(model.released(), kLeast * 3 / 2);
    EXPECT_GE(model.released(), kLeast - kLeast / 8);
    for (uint64_t i = kCount - kLeast / 8; i <= kCount; ++i) ASSERT_TRUE(model.blocks().find(kHeap + i * 16 + odd));
  }
}

// At least one round of the hand, which comes to eight places with each release.
TEST(BlockMap, ABlockIsRememberedForARound) {
  BlockMap blocks(1000);
  constexpr uint64_t kCount = 20'000;
  for (uint64_t i = 1; i <= kCount; ++i) {
    blocks.allocate(kHeap + i * 16, live_block(i));
    blocks.release(blocks.find(kHeap + i * 16), 3);
    const uint64_t round = blocks.bytes() / 16 / 8;
    ASSERT_TRUE(i <= round || blocks.find(kHeap + (i - round) * 16)) << i;
  }
}

// How many bytes a live block takes, at any time.
class MemoryOfBlocks : public ::testing::TestWithParam<std::pair<uint64_t, uint64_t>> {};

TEST_P(MemoryOfBlocks, IsInProportionToTheLiveOnes) {
  const auto [stride, count] = GetParam();
  BlockMap blocks(1000);
  for (uint64_t i = 1; i <= count; ++i) {
    blocks.allocate(kHeap + i * stride, live_block(i));
    ASSERT_LE(blocks.bytes(), std::max<uint64_t>(i, 3000) * 40) << i;
  }
  const size_t most = blocks.bytes();
  for (uint64_t i = 1; i <= count; ++i) blocks.release(blocks.find(kHeap + i * stride), 1);
  EXPECT_LE(blocks.bytes(), most / 6 + 100'000) << "the peak's memory is given back";
}
INSTANTIATE_TEST_SUITE_P(ByStride, MemoryOfBlocks,
                         ::testing::Values(std::pair(16, 300'000), std::pair(8, 200'000), std::pair(48, 200'000),
                                           std::pair(112, 50'000), std::pair(4096, 50'000), std::pair(4112, 50'000),
                                           std::pair(15792, 50'000), std::pair(1 << 20, 50'000),
                                           std::pair(1 << 26, 10'000)));

TEST(BlockMap, SmallOnesTakeLittle) {
  BlockMap blocks;
  EXPECT_LE(blocks.bytes(), 5000u);
  for (uint64_t i = 1; i <= 1000; ++i) blocks.allocate(kHeap + i * 32, live_block(i));
  EXPECT_LE(blocks.bytes(), 32u * 1024);
}

TEST(BlockMap, MemoryIsBoundedWhereBlocksMoveOn) {
  BlockMap blocks(1000);
  constexpr uint64_t kLive = 30'000;
  for (uint64_t i = 1; i <= 10 * kLive; ++i) {
    if (i > kLive) blocks.release(blocks.find(kHeap + (i - kLive) * 16), 1);
    blocks.allocate(kHeap + i * 16, live_block(i));
    ASSERT_LE(blocks.bytes(), kLive * 40);
  }
}

// Addresses of a program that knows the hash: all in one segment, in one line, in every place's last bits.
class HostileAddresses : public ::testing::TestWithParam<unsigned> {};

TEST_P(HostileAddresses, AreExactAndTakeNoMoreThanATree) {
  Model model(1000);
  const unsigned shared_bits = GetParam();
  std::mt19937_64 random(3);
  const uint64_t prefix = random() >> (64 - shared_bits) << (64 - shared_bits);
  constexpr uint64_t kCount = 10'000;
  std::vector<uint64_t> addresses;
  for (uint64_t number = 1; number <= kCount; ++number) {
    const uint64_t address = address_with_hash(prefix | random() >> shared_bits);
    if (model.is_alive(address)) continue;
    model.allocate(address, live_block(number));
    addresses.push_back(address);
  }
  EXPECT_LE(model.blocks().bytes(), model.live() * 100 + 100'000);
  model.expect_all_same();
  for (const uint64_t address : addresses) {
    if (random() % 8 != 0) model.release(address, 9);
  }
  model.expect_all_same();
}
INSTANTIATE_TEST_SUITE_P(BySharedBits, HostileAddresses, ::testing::Values(1, 6, 7, 12, 25, 26, 27, 36, 40));

// Whatever many have the same first bits, a few more in each branch must not make the directory large.
TEST(BlockMap, TheDirectoryIsBounded) {
  BlockMap blocks;
  std::mt19937_64 random(4);
  for (uint64_t number = 1; number <= 30'000; ++number) {
    const unsigned shared = static_cast<unsigned>(random() % 44);
    const uint64_t hash = shared == 0 ? random() : ~uint64_t{0} << (64 - shared) | random() >> shared;
    blocks.allocate(address_with_hash(hash), live_block(number));
  }
  EXPECT_LE(blocks.bytes(), 30'000u * 100);
}

}  // namespace
}  // namespace heaptap::ingest
