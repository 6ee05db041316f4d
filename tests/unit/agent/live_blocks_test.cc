#include "agent/core/live_blocks.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

namespace heaptap::agent {
namespace {

using Insert = LiveBlocks::Insert;
using Take = LiveBlocks::Take;

// A table of so many lines, all unused.
struct Table {
  explicit Table(uint32_t line_count)
      : lines(std::make_unique<wire::BlockLine[]>(line_count)),
        pages(std::make_unique<std::atomic<uint8_t>[]>(wire::page_count(line_count))) {
    blocks.start(lines.get(), line_count, pages.get());
  }
  Insert insert(uint64_t address, uint32_t entry, uint64_t size) {
    return blocks.insert(address, wire::make_where(entry, size), before);
  }
  Take take(uint64_t address) { return blocks.take(address, where); }

  std::unique_ptr<wire::BlockLine[]> lines;
  std::unique_ptr<std::atomic<uint8_t>[]> pages;
  LiveBlocks blocks;
  uint64_t before = 0;
  uint64_t where = 0;
};

TEST(LiveBlocks, GivesBackWhatWasKept) {
  Table table(127);
  EXPECT_EQ(table.insert(0x5555'1230, 7, 1u << 30), Insert::kPlaced);
  EXPECT_EQ(table.take(0x5555'1230), Take::kTaken);
  EXPECT_EQ(wire::where_entry(table.where), 7u);
  EXPECT_EQ(wire::where_size(table.where), 1u << 30);
}

TEST(LiveBlocks, ASecondReleaseIsKnownAsOne) {
  Table table(127);
  table.insert(0x1000, 1, 8);
  EXPECT_EQ(table.take(0x1000), Take::kTaken);
  EXPECT_EQ(table.take(0x1000), Take::kDead);
  EXPECT_EQ(table.insert(0x1000, 2, 9), Insert::kPlaced);
  EXPECT_EQ(table.take(0x1000), Take::kTaken);
}

TEST(LiveBlocks, WhatNeverWasIsKnownAsThat) {
  Table table(127);
  table.insert(0x1000, 1, 8);
  EXPECT_EQ(table.take(0x1008), Take::kNever);
}

TEST(LiveBlocks, AnAddressThatIsAliveStillIsReplaced) {
  Table table(127);
  table.insert(0x1000, 1, 8);
  EXPECT_EQ(table.insert(0x1000, 2, 9), Insert::kReplaced);
  EXPECT_EQ(wire::where_entry(table.before), 1u);
  EXPECT_EQ(table.take(0x1000), Take::kTaken);
  EXPECT_EQ(wire::where_entry(table.where), 2u);
}

TEST(LiveBlocks, IsFilledNearlyToTheEndAndSaysWhenItIsFull) {
  constexpr uint32_t kLines = 1021;
  constexpr uint32_t kPlaces = kLines * wire::kLinePlaces;
  constexpr uint32_t kBlocks = 2 * kPlaces;
  Table table(kLines);
  uint32_t placed = 0;
  uint32_t full = 0;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const Insert result = table.insert(0x7f00'0000'0000 + i * 48, 1, i);
    placed += result == Insert::kPlaced ? 1 : 0;
    full += result == Insert::kFull ? 1 : 0;
  }
  EXPECT_EQ(placed + full, kBlocks);
  EXPECT_GE(placed, kPlaces * 9 / 10);
  uint32_t taken = 0;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    taken += table.take(0x7f00'0000'0000 + i * 48) == Take::kTaken ? 1 : 0;
  }
  EXPECT_EQ(taken, placed);
}

// Every answer agrees with a plain map's, in a table that is nearly full and has forgotten much.
TEST(LiveBlocks, AgreesWithAMap) {
  Table table(257);
  std::unordered_map<uint64_t, uint64_t> alive;
  std::unordered_map<uint64_t, bool> ever;
  std::mt19937_64 random(7);
  for (int step = 0; step < 400'000; ++step) {
    const uint64_t address = 0x5600'0000 + random() % 4000 * 32;
    const auto known = alive.find(address);
    if (known != alive.end()) {
      ASSERT_EQ(table.take(address), Take::kTaken);
      ASSERT_EQ(wire::where_size(table.where), known->second);
      alive.erase(known);
    } else if (alive.size() < 850 && random() % 4 != 0) {
      const uint64_t size = random() % 100'000;
      ASSERT_EQ(table.insert(address, 3, size), Insert::kPlaced) << alive.size();
      alive[address] = size;
      ever[address] = true;
    } else {
      const Take answer = table.take(address);
      ASSERT_NE(answer, Take::kTaken);
      ASSERT_TRUE(answer == Take::kUnclear || (answer == Take::kDead) == ever.contains(address));
    }
  }
}

TEST(LiveBlocks, ThreadsDontLoseEachOthersBlocks) {
  Table table(4093);
  constexpr uint64_t kThreads = 4;
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (uint64_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&table, &wrong, number] {
      std::mt19937_64 random(number);
      std::vector<uint64_t> own;
      for (int step = 0; step < 200'000; ++step) {
        uint64_t other = 0;
        if (own.size() < 2500 && (own.empty() || random() % 2 == 0)) {
          const uint64_t address = (0x10'0000 + random() % 100'000 * kThreads + number) * 16;
          const Insert result = table.blocks.insert(address, wire::make_where(1, address), other);
          if (result == Insert::kPlaced) own.push_back(address);
          if (result == Insert::kFull) ++wrong;
        } else {
          std::swap(own[random() % own.size()], own.back());
          const bool taken =
              table.blocks.take(own.back(), other) == Take::kTaken && wire::where_size(other) == own.back();
          if (!taken) ++wrong;
          own.pop_back();
        }
      }
      uint64_t other = 0;
      for (const uint64_t address : own) wrong += table.blocks.take(address, other) == Take::kTaken ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace heaptap::agent
