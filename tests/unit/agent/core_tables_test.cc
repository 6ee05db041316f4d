// The tables that the agent's threads share without locks: nothing is lost, nothing is another's, also while they grow.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "agent/core/entry_index.h"
#include "agent/core/pieces.h"
#include "agent/core/rule_table.h"
#include "agent/core/stack_trie.h"
#include "at_once.h"

namespace heaptap::agent {
namespace {

constexpr uint32_t kThreads = 4;

// A log's codes and nodes, without the log.
struct Tables {
  static constexpr uint32_t kCapacity = 1u << 18;
  explicit Tables(uint32_t capacity = kCapacity)
      : codes(std::make_unique<wire::CodeEntry[]>(capacity)), nodes(std::make_unique<wire::StackNode[]>(capacity)) {
    header->node_count.store(wire::kRootCount);
    EXPECT_TRUE(rules.start(codes.get(), capacity, header.get()));
    EXPECT_TRUE(trie.start(nodes.get(), capacity, capacity, header.get()));
  }
  std::unique_ptr<wire::LogHeader> header = std::make_unique<wire::LogHeader>();
  std::unique_ptr<wire::CodeEntry[]> codes;
  std::unique_ptr<wire::StackNode[]> nodes;
  RuleTable rules;
  StackTrie trie;
};

constexpr uint64_t key_of(uint32_t number) { return 0x5555'0000'0000 + uint64_t{number} * 5; }
constexpr unwind::Row row_of(uint32_t number) {
  return {unwind::RowKind::kStackOffset, -1, -2 - static_cast<int64_t>(number % 7),
          2 + static_cast<int64_t>(number % 1000)};
}
bool is_rule_of(const Rule& rule, uint32_t number) { return rule.row() == row_of(number); }

// Half of the threads go through the addresses one way, half the other: those that go the same way meet at each new one.
TEST(RuleTable, GivesEachAddressItsOwnRowWhileThreadsFillIt) {
  constexpr uint32_t kKeys = 40'000;
  Tables tables;
  std::atomic<uint32_t> wrong{0};
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kKeys; ++i) {
      const uint32_t number = thread % 2 == 0 ? i : kKeys - 1 - i;
      Rule rule = tables.rules.find(key_of(number));
      if (!rule.has_row()) rule = tables.rules.add(key_of(number), 3, row_of(number));
      const bool is_right = is_rule_of(rule, number) && rule.code() < Tables::kCapacity &&
                            tables.codes[rule.code()].load() == (key_of(number) | uint64_t{3} << 48);
      if (!is_right) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0u);
  const uint32_t codes = tables.header->code_count.load();
  EXPECT_GE(codes, kKeys);
  EXPECT_LE(codes, kKeys * kThreads);
  std::set<uint64_t> different;
  for (uint32_t i = 0; i < codes; ++i) different.insert(wire::code_address(tables.codes[i].load()));
  EXPECT_EQ(different.size(), kKeys) << "each is in the log, and nothing else";
}

TEST(RuleTable, MakesRowsAnewThatAnotherThreadForgot) {
  constexpr uint32_t kKeys = 300;
  Tables tables;
  std::atomic<uint32_t> wrong{0};
  test::run_at_once(kThreads, [&](uint32_t thread) {
    std::mt19937 random(thread);
    for (int step = 0; step < 8000; ++step) {
      const auto number = static_cast<uint32_t>(random() % kKeys);
      if (thread == 0) {
        tables.rules.forget(key_of(number), key_of(number) + 1);
        continue;
      }
      Rule rule = tables.rules.find(key_of(number));
      if (!rule.has_row()) rule = tables.rules.add(key_of(number), 0, row_of(number));
      if (!is_rule_of(rule, number)) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0u);
  tables.rules.forget(0, UINT64_MAX);
  for (uint32_t number = 0; number < kKeys; ++number) EXPECT_FALSE(tables.rules.find(key_of(number)).has_row());
}

TEST(RuleTable, GivesOutEachCodeOnceUntilTheLogIsFull) {
  constexpr uint32_t kCapacity = 1000;
  Tables tables(kCapacity);
  std::atomic<uint32_t> given{0};
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kCapacity; ++i) {
      const uint32_t number = i * kThreads + thread;
      if (tables.rules.add(key_of(number), 0, row_of(number)).code() != Rule::kNoCode) ++given;
    }
  });
  EXPECT_EQ(given.load(), kCapacity);
  std::set<uint64_t> different;
  for (uint32_t i = 0; i < kCapacity; ++i) different.insert(tables.codes[i].load());
  EXPECT_EQ(different.size(), kCapacity);
  EXPECT_FALSE(different.contains(0));
}

// Stacks of three frames, told by their number.
std::vector<uint32_t> frames_of(uint32_t number) { return {number % 13, number % 170, 200 + number}; }

std::vector<uint32_t> frames_in(const StackTrie& trie, uint32_t node) {
  std::vector<uint32_t> frames;
  while (node >= wire::kRootCount && frames.size() < 10) {
    frames.push_back(wire::node_code(trie.node(node)));
    node = wire::node_parent(trie.node(node));
  }
  std::ranges::reverse(frames);
  return frames;
}

TEST(StackTrie, ANumberIsAlwaysTheStackThatItWasGivenFor) {
  constexpr uint32_t kStacks = 20'000;
  Tables tables;
  std::atomic<uint32_t> wrong{0};
  std::vector<std::vector<uint32_t>> numbers(kThreads, std::vector<uint32_t>(kStacks));
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kStacks; ++i) {
      const uint32_t number = thread % 2 == 0 ? i : kStacks - 1 - i;
      StackName name = root_name(wire::StackEnd::kComplete);
      for (const uint32_t code : frames_of(number)) name = tables.trie.intern(name, code);
      numbers[thread][number] = name.node;
      if (frames_in(tables.trie, name.node) != frames_of(number)) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0u);
  const uint32_t nodes = tables.header->node_count.load();
  for (uint32_t number = 0; number < kStacks; ++number) {
    StackName name = root_name(wire::StackEnd::kComplete);
    for (const uint32_t code : frames_of(number)) name = tables.trie.intern(name, code);
    EXPECT_EQ(frames_in(tables.trie, name.node), frames_of(number));
  }
  EXPECT_LE(tables.header->node_count.load(), nodes + nodes / 2)
      << "most are found again, no matter which thread wrote them";
  for (uint32_t node = wire::kRootCount; node < nodes; ++node) {
    EXPECT_LT(wire::node_parent(tables.trie.node(node)), node) << "no stack is its own caller";
  }
}

TEST(StackTrie, SaysThatItIsFullAndKeepsWhatItHas) {
  constexpr uint32_t kCapacity = 500;
  Tables tables(kCapacity);
  std::atomic<uint32_t> given{0};
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kCapacity; ++i) {
      const uint32_t code = i * kThreads + thread;
      const StackName name = tables.trie.intern(root_name(wire::StackEnd::kComplete), code);
      if (name.node == static_cast<uint32_t>(wire::StackEnd::kTableFull)) continue;
      ++given;
      if (wire::node_code(tables.trie.node(name.node)) != code) given += kCapacity;
    }
  });
  EXPECT_EQ(given.load(), kCapacity - wire::kRootCount);
}

// The threads meet at each table as it becomes full.
TEST(TableEntries, AreGivenOnceAndOnlyAsManyAsThereAre) {
  constexpr uint32_t kTables = 50'000;
  constexpr uint32_t kCapacity = 3;
  const auto counts = std::make_unique<std::atomic<uint32_t>[]>(kTables);
  const auto given = std::make_unique<std::atomic<uint32_t>[]>(kTables);
  std::atomic<uint32_t> outside{0};
  test::run_at_once(kThreads, [&](uint32_t) {
    for (uint32_t i = 0; i < kTables; ++i) {
      for (uint32_t index = 0; (index = wire::claim_entry(counts[i], kCapacity)) != wire::kNoEntry;) {
        outside += index < kCapacity ? 0 : 1;
        given[i] += 1u << (8 * (index % kCapacity));
      }
    }
  });
  EXPECT_EQ(outside.load(), 0u);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kTables; ++i) wrong += given[i].load() == 0x010101 ? 0 : 1;
  EXPECT_EQ(wrong, 0u);
}

// Two threads that add one key agree on its entry.
TEST(EntryIndex, HasOneEntryForAKey) {
  constexpr uint32_t kKeys = 20'000;
  constexpr uint32_t kCapacity = kKeys * kThreads + 1;
  const auto entries = std::make_unique<wire::TotalsEntry[]>(kCapacity);
  EntryIndex index;
  ASSERT_TRUE(index.start(entries.get(), kCapacity));
  std::atomic<uint32_t> next{1};
  std::vector<std::vector<uint32_t>> stood(kThreads, std::vector<uint32_t>(kKeys));
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kKeys; ++i) {
      const uint64_t key = uint64_t{i + 1} << 32;
      uint32_t entry = index.find(key);
      if (entry == 0) {
        const uint32_t mine = next.fetch_add(1);
        entries[mine].key.store(key, std::memory_order_release);
        entry = index.add(key, mine);
      }
      stood[thread][i] = entry;
    }
  });
  for (uint32_t i = 0; i < kKeys; ++i) {
    EXPECT_EQ(entries[stood[0][i]].key.load(), uint64_t{i + 1} << 32);
    for (uint32_t thread = 1; thread < kThreads; ++thread) EXPECT_EQ(stood[thread][i], stood[0][i]);
  }
}

TEST(Pieces, NoTwoOverlap) {
  Pieces pieces;
  constexpr size_t kBytes = 9000;
  constexpr uint32_t kPieces = 300;
  std::vector<std::vector<uintptr_t>> taken(kThreads);
  std::atomic<uint32_t> unclean{0};
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kPieces; ++i) {
      auto* piece = static_cast<uint8_t*>(pieces.take(kBytes));
      if (piece == nullptr) continue;
      if (std::any_of(piece, piece + kBytes, [](uint8_t byte) { return byte != 0; })) ++unclean;
      std::fill(piece, piece + kBytes, static_cast<uint8_t>(thread + 1));
      taken[thread].push_back(reinterpret_cast<uintptr_t>(piece));
    }
  });
  EXPECT_EQ(unclean.load(), 0u);
  std::vector<uintptr_t> all;
  for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), size_t{kThreads} * kPieces);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i] - all[i - 1], kBytes);
}

}  // namespace
}  // namespace heaptap::agent
