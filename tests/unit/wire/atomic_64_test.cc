// The number of several words that stands for a 64-bit atomic on CPUs without one: tried here against the one that this CPU has.
#include "common/wire/atomic_64.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <set>
#include <thread>
#include <vector>

namespace heaptap::wire {
namespace {

TEST(SplitNumber, DoesWhatTheLibrarysAtomicDoes) {
  std::mt19937_64 random(1);
  SplitNumber number(random());
  std::atomic<uint64_t> other(number.load());
  for (int i = 0; i < 300'000; ++i) {  // more than the tags of its words count
    const uint64_t value = random() >> (random() % 64);
    switch (random() % 7) {
      case 0:
        ASSERT_EQ(number.fetch_add(value), other.fetch_add(value));
        break;
      case 1:
        ASSERT_EQ(number.fetch_sub(value), other.fetch_sub(value));
        break;
      case 2:
        ASSERT_EQ(number.fetch_or(value), other.fetch_or(value));
        break;
      case 3:
        ASSERT_EQ(number.fetch_and(value), other.fetch_and(value));
        break;
      case 4:
        ASSERT_EQ(number.exchange(value), other.exchange(value));
        break;
      case 5:
        number.store(value);
        other.store(value);
        break;
      default: {
        uint64_t expected = random() % 2 == 0 ? other.load() : value;
        uint64_t expected_too = expected;
        ASSERT_EQ(number.compare_exchange_strong(expected, value), other.compare_exchange_strong(expected_too, value));
        ASSERT_EQ(expected, expected_too);
      }
    }
    ASSERT_EQ(number.load(), other.load());
  }
}

TEST(SplitNumber, CountsWhatAllThreadsAdd) {
  constexpr uint64_t kEach = 30'000;
  constexpr uint64_t kAmount = 0x1'0000'ffff;
  constexpr uint64_t kThreads = 4;
  SplitNumber number;
  std::vector<std::vector<uint64_t>> before(kThreads);
  std::vector<std::thread> threads;
  for (auto& own : before) {
    threads.emplace_back([&number, &own] {
      for (uint64_t i = 0; i < kEach; ++i) own.push_back(number.fetch_add(kAmount));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(number.load(), kThreads * kEach * kAmount);
  std::set<uint64_t> all;
  for (const auto& own : before) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), kThreads * kEach) << "no two saw the same value";
}

TEST(SplitNumber, IsNeverSeenInParts) {
  constexpr uint64_t kParts = 0x0001'0001'0001'0001;
  constexpr uint64_t kEach = 300'000;
  SplitNumber number;
  std::atomic<int> at_work = 2;
  std::vector<std::thread> writers;
  for (uint64_t own = 0; own < 2; ++own) {
    writers.emplace_back([&, own] {
      for (uint64_t i = 0; i < kEach; ++i) number.store(((2 * i + own) & 0xffff) * kParts, std::memory_order_relaxed);
      at_work.fetch_sub(1);
    });
  }
  uint64_t torn = 0;
  while (at_work.load() > 0) {
    const uint64_t seen = number.load(std::memory_order_relaxed);
    if (seen != (seen & 0xffff) * kParts) ++torn;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(torn, 0u);
}

// A thread that ended, or waits for its processor, in the middle of a change.
TEST(SplitNumber, AClaimThatDoesNotEndIsTakenOver) {
  constexpr uint64_t kValue = 0x1234'5678'9abc'def0;
  SplitNumber number(kValue);
  auto* const words = reinterpret_cast<uint32_t*>(&number);
  words[0] = 4 | 2;        // one claim, which is not finished
  words[5] = 0x0001'ffff;  // the first word of the other place, by that claim
  words[6] = 0x0001'eeee;  // the second one
  EXPECT_EQ(number.load(), kValue);
  EXPECT_EQ(number.fetch_add(1), kValue);
  EXPECT_EQ(number.load(), kValue + 1);
  uint64_t expected = kValue + 1;
  EXPECT_TRUE(number.compare_exchange_strong(expected, 5));
  EXPECT_EQ(number.load(), 5u);
}

SplitNumber* g_number = nullptr;
volatile sig_atomic_t g_signals = 0;

void add_in_handler(int) {
  g_number->fetch_add(uint64_t{1} << 32);
  g_signals = g_signals + 1;
}

TEST(SplitNumber, CountsWhatAHandlerOfTheSameThreadAdds) {
  SplitNumber number;
  g_number = &number;
  struct sigaction action{};
  action.sa_handler = &add_in_handler;
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval often{{0, 50}, {0, 50}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  uint64_t own = 0;
  while (g_signals < 300) {
    number.fetch_add(1);
    ++own;
  }
  const itimerval never{};
  ASSERT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
  const auto handled = static_cast<uint64_t>(g_signals);
  EXPECT_EQ(number.load(), own + (handled << 32));
}

TEST(SplitNumber, OutlivesProcessesThatAreKilledAtIt) {
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& number = *static_cast<SplitNumber*>(memory);  // zeros are 0
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      while (true) number.fetch_add(1);
    }
    const uint64_t before = number.load();
    while (number.load() == before) {
    }
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const uint64_t left = number.load();
    EXPECT_EQ(number.fetch_add(1), left);
    EXPECT_EQ(number.load(), left + 1);
  }
  munmap(memory, 4096);
}

}  // namespace
}  // namespace heaptap::wire
