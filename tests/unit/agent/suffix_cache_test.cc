// What a thread remembers of its stacks' inner ends: it may forget, and is never wrong. Each thread has its own; what they share is
// the memory that these grow into.
#include "agent/core/suffix_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <unordered_map>

#include "at_once.h"

namespace heaptap::agent {
namespace {

StackSuffix suffix_of(uint64_t number) {
  StackSuffix suffix{};
  suffix.key = 0x5555'0000 + number * 16;
  suffix.below = 100;
  suffix.inner_count = 1;
  suffix.inner[0] = number;
  return suffix;
}
SuffixPlace place_of(uint64_t number) { return {.key = suffix_of(number).key, .distance = 800, .word = number * 8}; }

const StackSuffix* find(const SuffixCache& cache, uint64_t number) {
  for (uint32_t way = 0; way < SuffixCache::kAssociativity; ++way) {
    const StackSuffix* suffix = cache.find_suffix(place_of(number), way);
    if (suffix != nullptr && suffix->inner[0] == number) return suffix;
  }
  return nullptr;
}

struct Work {
  uint64_t suffixes;
  uint64_t stacks;  // that they are on
  int steps;
};

// Gives how often a name was known.
uint64_t expect_own_names(SuffixCache& cache, const Work& work, uint64_t seed) {
  std::unordered_map<uint64_t, uint32_t> named;  // by serial and the stack that it is on
  std::mt19937_64 random(seed);
  uint64_t known = 0;
  for (int step = 0; step < work.steps; ++step) {
    const uint64_t number = random() % work.suffixes;
    const StackSuffix* suffix = find(cache, number);
    if (suffix == nullptr) {
      cache.add_suffix(place_of(number), suffix_of(number));
      continue;
    }
    const auto from = static_cast<uint32_t>(8 + random() % work.stacks * 7919);
    uint32_t& name = named[uint64_t{suffix->serial} << 32 | from];
    const uint32_t found = cache.find_number(from, *suffix);
    if (found != 0) {
      EXPECT_EQ(found, name);
      ++known;
    } else {
      name = static_cast<uint32_t>(1 + random() % 1'000'000);
      cache.add_number(from, *suffix, name);
    }
  }
  cache.forget();
  for (uint64_t number = 0; number < work.suffixes; ++number) EXPECT_EQ(find(cache, number), nullptr);
  return known;
}

// In zeroed memory, as a thread's state is.
SuffixCache& make_cache() {
  auto* cache = static_cast<SuffixCache*>(g_pieces.take(sizeof(SuffixCache)));
  cache->begin();
  return *cache;
}

TEST(SuffixCache, NamesOnlyWhatWasNamedAsItGrows) {
  SuffixCache& cache = make_cache();
  EXPECT_GT(expect_own_names(cache, {.suffixes = 600, .stacks = 50, .steps = 200'000}, 1), 10'000u);
  cache.begin();  // small again
  EXPECT_GT(expect_own_names(cache, {.suffixes = 20, .stacks = 4, .steps = 5000}, 2), 1000u);
}

// So few that each table is mapped once: of a mapping that goes and comes again in another thread ThreadSanitizer knows nothing.
TEST(SuffixCache, SeveralThreadsGrowTheirsAtOnce) {
  std::atomic<uint64_t> known{0};
  test::run_at_once(4, [&](uint32_t thread) {
    known += expect_own_names(make_cache(), {.suffixes = 40, .stacks = 4, .steps = 3000}, thread);
  });
  EXPECT_GT(known.load(), 1000u);
}

}  // namespace
}  // namespace heaptap::agent
