#include "agent/preload/late_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace heaptap::agent {
namespace {

constexpr uint32_t kFunctions = 20;
constexpr uintptr_t kFirst = 0x7f00'0000'0000;
constexpr uintptr_t kObjectBytes = 16 * 4096;

// A process with objects one behind the other, in which each function of an object is somewhere else, and anew in each generation.
struct World {
  [[nodiscard]] static uintptr_t address_of(uint32_t function, uintptr_t caller, uint64_t generation) {
    const uintptr_t object = (caller - kFirst) / kObjectBytes;
    return 0x10000 + ((object * 64 + function) * 1024 + generation % 1024) * 3;
  }
  [[nodiscard]] LateAnswer answer(uint32_t function, uintptr_t caller, uint64_t generation) {
    ++searches;
    const uintptr_t start = kFirst + (caller - kFirst) / kObjectBytes * kObjectBytes;
    const uintptr_t address = address_of(function, caller, generation);
    return {{reinterpret_cast<void*>(address), address % 2 == 0}, {start, knows_objects ? kObjectBytes : 0}};
  }
  [[nodiscard]] bool finds(uint32_t function, uintptr_t caller, uint64_t generation) {
    const LateFunction found =
        table->find(function, caller, generation, [&] { return answer(function, caller, generation); });
    const uintptr_t wanted = address_of(function, caller, generation);
    return found.function == reinterpret_cast<void*>(wanted) && found.standard == (wanted % 2 == 0);
  }

  std::unique_ptr<LateTable<kFunctions>> table = std::make_unique<LateTable<kFunctions>>();
  std::atomic<uint64_t> searches{0};
  bool knows_objects = true;
};

TEST(LateTable, SearchesOnceForEachObjectAndFunction) {
  World world;
  std::mt19937_64 random(1);
  constexpr uint64_t kObjects = 200;
  for (int i = 0; i < 400'000; ++i) {
    ASSERT_TRUE(world.finds(static_cast<uint32_t>(random() % 4), kFirst + random() % (kObjects * kObjectBytes), 0));
  }
  EXPECT_EQ(world.searches, kObjects * 4);
}

TEST(LateTable, TwoObjectsInTurnsDontDriveEachOtherOut) {
  World world;
  for (uintptr_t other = 1; other < 1000; ++other) {
    const uint64_t before = world.searches;
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(world.finds(0, kFirst, other));
      ASSERT_TRUE(world.finds(0, kFirst + other * kObjectBytes, other));
    }
    EXPECT_EQ(world.searches - before, 2u);
  }
}

TEST(LateTable, IsAskedAnewOnceObjectsHaveGone) {
  World world;
  std::vector<uint64_t> generations{
      0, 1, 2, 1023, 1u << 23, (1u << 23) + 1, uint64_t{1} << 38, (uint64_t{1} << 39) - 1};
  for (const uint64_t generation : generations) {
    for (uintptr_t object = 0; object < 20; ++object) {
      ASSERT_TRUE(world.finds(3, kFirst + object * kObjectBytes, generation)) << generation;
      ASSERT_TRUE(world.finds(3, kFirst + object * kObjectBytes + 5 * 4096, generation)) << generation;
    }
  }
  EXPECT_EQ(world.searches, 20 * generations.size());
}

TEST(LateTable, CodeOutsideOfObjectsIsKnownByItsPage) {
  World world;
  world.knows_objects = false;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(world.finds(2, kFirst + 17, 0));
  EXPECT_EQ(world.searches, 1u);
  ASSERT_TRUE(world.finds(2, kFirst + 4096, 0));
  EXPECT_EQ(world.searches, 2u);
}

TEST(LateTable, WhatWasLearntIsNotSearched) {
  World world;
  const LateAnswer learnt{{reinterpret_cast<void*>(uintptr_t{0x1234}), true}, {kFirst, kObjectBytes}};
  world.table->learn(1, 7, learnt);
  const auto never = [] { return LateAnswer{{nullptr, false}, {kFirst, kObjectBytes}}; };
  EXPECT_EQ(world.table->find(1, kFirst + 99, 7, never).function, learnt.function.function);
  EXPECT_EQ(world.table->find(1, kFirst + 99, 8, never).function, nullptr) << "an object has gone";
  ASSERT_TRUE(world.finds(2, kFirst, 8));
  world.table->learn(2, 8, learnt);
  ASSERT_TRUE(world.finds(2, kFirst + 2 * 4096, 8)) << "what it has already, it keeps";
  EXPECT_EQ(world.searches, 1u);
}

TEST(LateTable, NobodyDefiningItIsAnAnswer) {
  LateTable<kFunctions> table;
  int searches = 0;
  for (int i = 0; i < 10; ++i) {
    const LateFunction found = table.find(0, kFirst, 0, [&] {
      ++searches;
      return LateAnswer{{nullptr, false}, {kFirst, kObjectBytes}};
    });
    EXPECT_EQ(found.function, nullptr);
  }
  EXPECT_EQ(searches, 1);
}

TEST(LateTable, AnAddressThatDoesntFitIsRightAndNotKept) {
  LateTable<kFunctions> table;
  const auto far = reinterpret_cast<void*>(uintptr_t{1} << 52);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(table.find(0, kFirst, 0, [&] { return LateAnswer{{far, true}, {kFirst, kObjectBytes}}; }).function, far);
  }
}

// As of a thread that was interrupted between asking for the generation and remembering.
TEST(LateTable, AnOlderGenerationReplacesNothing) {
  World world;
  ASSERT_TRUE(world.finds(0, kFirst, 2));
  ASSERT_TRUE(world.finds(0, kFirst + kObjectBytes, 1));
  const uint64_t before = world.searches;
  ASSERT_TRUE(world.finds(0, kFirst + 4096, 2));
  EXPECT_EQ(world.searches, before) << "the object is known in that generation";
}

// Of addresses that differ by as little as generations do.
TEST(LateTable, HalvesOfTwoValuesMatchNoKey) {
  constexpr uint64_t kPlace = uint64_t{0x7f0000000} << 29 | 5 << 23;
  constexpr uint64_t kGenerations = 300;
  const auto value_of = [](uint64_t generation) { return 0x10000 + generation * 3; };
  for (uint64_t one = 0; one < kGenerations; ++one) {
    for (uint64_t other = 0; other < kGenerations; ++other) {
      if (one == other) continue;
      const uint64_t mixed = key_with_value(kPlace | one, value_of(one));
      const uint64_t matching = mixed ^ key_with_value(0, value_of(other));
      ASSERT_NE(matching >> 23, kPlace >> 23) << one << " and " << other;
    }
  }
}

TEST(LateTable, ThreadsFindTheirOwnWhileObjectsGo) {
  World world;
  std::atomic<uint64_t> generation{0};
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937_64 random(number);
      for (int i = 0; i < 200'000; ++i) {
        if (i % 500 == 0) ++generation;
        const bool found = world.finds(static_cast<uint32_t>(random() % kFunctions),
                                       kFirst + random() % (40 * kObjectBytes), generation);
        if (!found) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace heaptap::agent
