// The peak of live bytes and blocks that several threads add to in parts (--aggregate): exact for one thread, else within what the
// log says.
#include "agent/core/live_level.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "at_once.h"

namespace heaptap::agent {
namespace {

// Threads' parts of one level, and what is true beside it.
class Level {
 public:
  explicit Level(uint32_t threads) : parts(threads), live_of(threads) {
    log->thread_count.store(threads);
    level.start(*log, *totals);
    for (uint32_t thread = 0; thread < threads; ++thread) level.begin(parts[thread], thread == 0);
  }
  void allocate(uint32_t thread, uint64_t size) {
    level.allocate(parts[thread], size);
    live_of[thread].push_back(size);
    bytes += size;
    peak_bytes = std::max(peak_bytes, bytes);
    peak_blocks = std::max(peak_blocks, ++blocks);
  }
  // A block of one thread, by another.
  void release(uint32_t thread, uint32_t by) {
    const uint64_t size = live_of[thread].back();
    live_of[thread].pop_back();
    level.release(parts[by], size, 1);
    bytes -= size;
    --blocks;
  }
  [[nodiscard]] uint64_t error_bytes() const { return totals->peak_error_bytes.load(); }
  [[nodiscard]] uint64_t error_blocks() const { return totals->peak_error_blocks.load(); }
  [[nodiscard]] uint64_t live_bytes() const { return totals->live_alone.bytes.load() + totals->live.bytes.load(); }
  [[nodiscard]] uint64_t live_blocks() const { return totals->live_alone.blocks.load() + totals->live.blocks.load(); }
  void expect_peak_within_error() const {
    ASSERT_LE(distance(totals->peak_bytes.load(), peak_bytes), error_bytes());
    ASSERT_LE(distance(totals->peak_blocks.load(), peak_blocks), error_blocks());
  }
  static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

  std::unique_ptr<wire::LogHeader> log = std::make_unique<wire::LogHeader>();
  std::unique_ptr<wire::TotalsHeader> totals = std::make_unique<wire::TotalsHeader>();
  LiveLevel level;
  std::vector<LiveLevel::Part> parts;
  std::vector<std::vector<uint64_t>> live_of;
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  uint64_t peak_bytes = 0;
  uint64_t peak_blocks = 0;
};

// Phases that grow and shrink, of blocks of these sizes.
void churn(Level& level, uint32_t threads, uint64_t most_bytes, int steps) {
  std::mt19937_64 random(threads);
  for (int step = 0; step < steps; ++step) {
    const auto thread = static_cast<uint32_t>(random() % threads);
    const bool grows = step / 997 % 2 == 0;
    if (level.live_of[thread].empty() || random() % 8 < (grows ? 5 : 3)) {
      level.allocate(thread, random() % most_bytes);
    } else {
      level.release(thread, static_cast<uint32_t>(random() % threads));
    }
    ASSERT_NO_FATAL_FAILURE(level.expect_peak_within_error());
  }
}

TEST(LiveLevel, IsExactForOneThread) {
  Level level(1);
  churn(level, 1, 300'000, 50'000);
  EXPECT_EQ(level.totals->peak_bytes.load(), level.peak_bytes);
  EXPECT_EQ(level.totals->peak_blocks.load(), level.peak_blocks);
  EXPECT_EQ(level.error_bytes(), 0u);
  EXPECT_EQ(level.error_blocks(), 0u);
}

TEST(LiveLevel, IsWithinTheErrorThatItTells) {
  for (const uint32_t threads : {2u, 3u, 16u}) {
    for (const uint64_t most_bytes : {1u, 40u, 3000u, 300'000u}) {
      Level level(threads);
      churn(level, threads, most_bytes, 30'000);
      EXPECT_LE(level.error_bytes(), threads * LiveLevel::kMaxPartBytes);
      EXPECT_LE(level.error_blocks(), threads * LiveLevel::kMaxPartBlocks);
    }
  }
}

TEST(LiveLevel, SmallAmountsHaveASmallError) {
  Level level(4);
  for (uint32_t i = 0; i < 4000; ++i) {
    level.allocate(i % 4, 24);
    level.release(i % 4, i % 4);
  }
  level.expect_peak_within_error();
  EXPECT_LE(level.error_bytes(), 4u * 32);
  EXPECT_LE(level.error_blocks(), 4u * 16);
}

TEST(LiveLevel, TheFirstThreadsBlocksCountOnceOthersBegin) {
  Level level(1);
  level.allocate(0, 1'000'000);
  level.log->thread_count.store(2);
  LiveLevel::Part second{};
  level.level.begin(second, false);
  level.level.allocate(second, 500'000);
  EXPECT_EQ(level.totals->peak_bytes.load(), 1'500'000u);
  level.release(0, 0);
  level.level.allocate(second, 700'000);
  EXPECT_EQ(level.totals->peak_bytes.load(), 1'500'000u);
}

TEST(LiveLevel, APartIsAddedWhenItIsHandedOn) {
  Level level(3);
  for (int i = 0; i < 200; ++i) level.allocate(1, 10);
  const uint64_t error = level.error_bytes();
  for (LiveLevel::Part& part : level.parts) level.level.begin(part, false);
  EXPECT_EQ(level.live_bytes(), level.bytes);
  EXPECT_EQ(level.live_blocks(), level.blocks);
  EXPECT_EQ(level.totals->peak_bytes.load(), level.peak_bytes);
  EXPECT_EQ(level.error_bytes(), error);
}

TEST(LiveLevel, ThreadsLoseNothing) {
  constexpr uint32_t kThreads = 4;
  constexpr uint64_t kSteps = 50'000;
  Level level(kThreads);
  test::run_at_once(kThreads, [&level](uint32_t thread) {
    LiveLevel::Part& part = level.parts[thread];
    for (uint64_t i = 0; i < kSteps; ++i) {
      level.level.allocate(part, i);
      if (i % 4 == 0) continue;  // is left
      level.level.release(part, i, 1);
      level.level.release(part, i, ~uint64_t{0});
      level.level.release(part, i, 1);
    }
  });
  uint64_t left = 0;
  for (uint64_t i = 0; i < kSteps; i += 4) left += kThreads * i;
  EXPECT_GE(level.totals->peak_bytes.load() + level.error_bytes(), left);
  for (LiveLevel::Part& part : level.parts) level.level.begin(part, false);
  EXPECT_EQ(level.live_bytes(), left);
  EXPECT_EQ(level.live_blocks(), kThreads * kSteps / 4);
  EXPECT_LE(level.totals->peak_bytes.load(), left + kThreads * kSteps + level.error_bytes());
}

}  // namespace
}  // namespace heaptap::agent
