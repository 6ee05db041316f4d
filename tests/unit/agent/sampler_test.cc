#include "agent/core/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <unordered_set>
#include <vector>

#include "agent/core/memory_probes.h"
#include "common/model/sampling.h"

namespace heaptap::agent {
namespace {

// Fixed seeds: each test has the same numbers in each run.
TEST(Sampler, DistancesAreExponential) {
  constexpr int kDraws = 200'000;
  for (const uint64_t interval : {uint64_t{1}, uint64_t{7}, uint64_t{512} << 10, wire::kMaxSampleInterval}) {
    uint64_t seed = interval;
    double sum = 0;
    int beyond = 0;  // twice the mean
    for (int i = 0; i < kDraws; ++i) {
      const uint64_t distance = Sampler::draw(seed, interval);
      ASSERT_GE(distance, 1u);
      sum += static_cast<double>(distance);
      beyond += distance > 2 * interval ? 1 : 0;
    }
    // Whole numbers, rounded up: of a geometric distribution.
    const double mean = -1 / std::expm1(-1 / static_cast<double>(interval));
    EXPECT_NEAR(sum / kDraws / mean, 1, 0.01) << interval;
    EXPECT_NEAR(static_cast<double>(beyond) / kDraws, std::exp(-2), 0.004) << interval;
  }
}

TEST(Sampler, TellsProfilersWhatABlockStandsFor) {
  std::mt19937_64 random(5);
  for (const uint64_t interval : {uint64_t{1} << 12, uint64_t{512} << 10, wire::kMaxSampleInterval}) {
    const model::SampleWeights weights(interval);
    for (int i = 0; i < 3000; ++i) {
      const uint64_t size = random() >> (i % 60 + 4);
      const double expected = static_cast<double>(size) * weights.weight_of(size);
      EXPECT_NEAR(static_cast<double>(weighted_bytes(size, interval)), expected, expected * 1e-6 + 1) << size;
    }
  }
}

TEST(SampledBlocks, HaveWhatWasAddedAndNothingElse) {
  SampledBlocks blocks;
  ASSERT_TRUE(blocks.start());
  std::unordered_set<uintptr_t> alive;
  std::mt19937_64 random(7);
  for (int step = 0; step < 300'000; ++step) {
    const uintptr_t block = 0x5600'0000 + random() % 20'000 * 16;
    if (alive.erase(block) != 0) {
      ASSERT_TRUE(blocks.may_have(block));
      ASSERT_TRUE(blocks.take(block));
      ASSERT_FALSE(blocks.take(block));
    } else if (random() % 4 != 0) {
      ASSERT_TRUE(blocks.add(block));
      alive.insert(block);
    } else {
      ASSERT_FALSE(blocks.take(block));
    }
  }
  for (const uintptr_t block : alive) ASSERT_TRUE(blocks.take(block));
}

TEST(SampledBlocks, TheFilterAnswersForNearlyAllOthers) {
  SampledBlocks blocks;
  ASSERT_TRUE(blocks.start());
  for (uintptr_t i = 0; i < 300; ++i) ASSERT_TRUE(blocks.add(0x7f00'0000'0000 + i * 4096));
  int hits = 0;
  for (uintptr_t i = 0; i < 10'000; ++i) hits += blocks.may_have(0x5500'0000'0000 + i * 48) ? 1 : 0;
  EXPECT_LT(hits, 500);
}

TEST(SampledBlocks, CountersOfTheFilterThatAreFullStayFull) {
  SampledBlocks blocks;
  ASSERT_TRUE(blocks.start());
  constexpr uintptr_t kBlock = 0x5555'0000;
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(blocks.add(kBlock));  // again and again, its releases weren't seen
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(blocks.may_have(kBlock));
    ASSERT_TRUE(blocks.take(kBlock));
  }
  EXPECT_FALSE(blocks.take(kBlock));
  EXPECT_FALSE(blocks.may_have(kBlock));
  std::vector<uintptr_t> many;
  for (uintptr_t i = 0; many.size() < 20'000; ++i) many.push_back(0x6600'0000 + i * 16);
  for (const uintptr_t block : many) ASSERT_TRUE(blocks.add(block));
  for (const uintptr_t block : many) ASSERT_TRUE(blocks.may_have(block) && blocks.take(block));
}

TEST(SampledBlocks, MovesBlocksBetweenThreads) {
  SampledBlocks blocks;
  ASSERT_TRUE(blocks.start());
  constexpr uintptr_t kEach = 50'000;
  constexpr uintptr_t kThreads = 4;
  std::vector<std::atomic<uintptr_t>> given(kThreads);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uintptr_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::atomic<uintptr_t>& next = given[(thread + 1) % kThreads];
      for (uintptr_t i = 0; i < kEach; ++i) {
        const uintptr_t block = 0x1'0000'0000 * (thread + 1) + i % 3000 * 16;
        if (!blocks.add(block)) ++wrong;
        uintptr_t empty = 0;
        if (!next.compare_exchange_strong(empty, block) && !blocks.take(block)) ++wrong;
        const uintptr_t taken = given[thread].exchange(0);
        if (taken != 0 && (!blocks.may_have(taken) || !blocks.take(taken))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace heaptap::agent
