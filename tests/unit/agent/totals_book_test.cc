// The totals that several threads count into the log (--aggregate): what was counted is what they did.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "agent/core/totals.h"
#include "at_once.h"
#include "capture/log/log_memory.h"

namespace heaptap::agent {
namespace {

using wire::Function;
using wire::RecordKind;

constexpr uint32_t kThreads = 4;
constexpr uint64_t kSteps = 30'000;
constexpr uint32_t kStacks = 50;
constexpr uint64_t kSize = 24;

class TotalsBookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    log::LogOptions options;
    options.totals_bytes = 8u << 20;
    memory_ = *log::LogMemory::create(options);
    ASSERT_NE(memory_, nullptr);
    wire::CheckedLayout layout{};
    ASSERT_TRUE(wire::copy_layout(memory_->header(), memory_->bytes(), layout));
    ASSERT_TRUE(totals_.start(&memory_->header(), layout));
    memory_->header().thread_count.store(kThreads);
  }

  // A thread of this number, which has blocks of its own and hands one in three to `handed`.
  struct Thread {
    uint32_t number;
    TotalsState state{};
    ThreadAnchor anchor{};
    std::vector<uint64_t> blocks{};
    uint64_t next = 0;
  };
  static uint64_t tagged(RecordKind kind, Function function, uint64_t address) {
    return wire::make_tagged_address(kind, static_cast<uint8_t>(function), address);
  }
  void allocate(Thread& thread) {
    const uint64_t address = (uint64_t{thread.number} << 32) + thread.next++ % (2 * kSteps) * 32 + 32;
    const auto stack = static_cast<uint32_t>(8 + thread.next % kStacks);
    totals_.allocate(thread.state, thread.anchor, tagged(RecordKind::kAllocate, Function::kMalloc, address), kSize,
                     stack);
    thread.blocks.push_back(address);
  }
  void release(Thread& thread, uint64_t address, Function function) {
    totals_.release(thread.state, thread.anchor, tagged(RecordKind::kRelease, function, address),
                    TotalsBook::Blocks::kAll);
    if (function != Function::kRealloc) return;
    totals_.undo(thread.state, tagged(RecordKind::kUndo, function, address));  // it failed
    totals_.release(thread.state, thread.anchor, tagged(RecordKind::kRelease, Function::kFree, address),
                    TotalsBook::Blocks::kAll);
  }
  void work(uint32_t index) {
    Thread thread{.number = index + 1};
    totals_.begin_thread(thread.state, thread.number, 1000 + thread.number);
    std::mt19937_64 random(index);
    for (uint64_t step = 0; step < kSteps; ++step) {
      if (thread.blocks.size() < 100 || random() % 2 == 0) allocate(thread);
      std::swap(thread.blocks[random() % thread.blocks.size()], thread.blocks.back());
      uint64_t block = thread.blocks.back();
      if (random() % 3 == 0) {
        thread.blocks.pop_back();
        block = handed_.exchange(block, std::memory_order_acq_rel);
        if (block == 0) continue;
      } else if (random() % 2 == 0) {
        thread.blocks.pop_back();
      } else {
        continue;
      }
      release(thread, block, random() % 8 == 0 ? Function::kRealloc : Function::kFree);
    }
    allocated_ += thread.next;
    left_ += thread.blocks.size();
  }

  std::unique_ptr<log::LogMemory> memory_;
  TotalsBook totals_;
  std::atomic<uint64_t> handed_{0};
  std::atomic<uint64_t> allocated_{0};
  std::atomic<uint64_t> left_{0};
};

TEST_F(TotalsBookTest, CountEachAllocationAndReleaseOnce) {
  test::run_at_once(kThreads, [this](uint32_t index) { work(index); });
  if (handed_.load() != 0) ++left_;
  const log::TotalsParts& totals = memory_->parts().totals;
  uint64_t allocations = 0;
  uint64_t bytes = 0;
  uint64_t releases = 0;
  uint64_t released_bytes = 0;
  for (const wire::TotalsEntry& entry : totals.entries) {
    allocations += entry.allocations.load();
    bytes += entry.allocated_bytes.load();
    releases += entry.own_releases.load() + entry.other_releases.load();
    released_bytes += entry.own_released_bytes.load() + entry.other_released_bytes.load();
  }
  const uint64_t allocated = allocated_.load();
  const uint64_t left = left_.load();
  EXPECT_EQ(allocations, allocated);
  EXPECT_EQ(bytes, allocated * kSize);
  EXPECT_EQ(releases, allocated - left);
  EXPECT_EQ(released_bytes, releases * kSize);
  const wire::TotalsHeader& header = *totals.header;
  // Up to what each thread has not added yet.
  const uint64_t live_bytes = header.live_alone.bytes.load() + header.live.bytes.load();
  EXPECT_LE(live_bytes - left * kSize + header.peak_error_bytes.load(), 2 * header.peak_error_bytes.load());
  EXPECT_LE(header.peak_error_bytes.load(), kThreads * LiveLevel::kMaxPartBytes);
  EXPECT_GE(header.peak_blocks.load() + header.peak_error_blocks.load(), left);
  EXPECT_LE(header.peak_blocks.load(), allocated + header.peak_error_blocks.load());
  EXPECT_EQ(header.double_releases.load() + header.bad_releases.load() + header.unclear_releases.load() +
                header.unknown_releases.load() + header.missed_releases.load() + header.unkept_blocks.load(),
            0u);
  uint64_t by_threads = 0;
  for (const wire::TotalsThread& thread : totals.threads) by_threads += thread.releases.load();
  for (const wire::TotalsEntry& entry : totals.entries) by_threads += entry.own_releases.load();
  EXPECT_EQ(by_threads, releases);
  // An entry for each thread and stack, and none twice.
  EXPECT_EQ(header.entry_count.load(), wire::kFunctionCount + kThreads * kStacks);
}

}  // namespace
}  // namespace heaptap::agent
