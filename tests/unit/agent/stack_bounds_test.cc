// What the agent knows of its threads' stacks without asking: what is found in a C library's control block, and the count by
// which threads tell that what they remember is void.
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <cstring>
#include <vector>

#include "agent/core/change_count.h"
#include "agent/core/thread_stack.h"
#include "common/arch/native.h"

namespace heaptap::agent {
namespace {

TEST(ChangeCount, NeverSaysThatNothingIsKnown) {
  ChangeCount changes(UINT32_MAX - 2);
  for (int i = 0; i < 5; ++i) {
    const uint32_t before = changes.value();
    changes.count_up();
    EXPECT_NE(changes.value(), 0u);
    EXPECT_NE(changes.value(), before);
  }
  EXPECT_NE(ChangeCount().value(), 0u);
}

constexpr uintptr_t kBegin = 0x7f0000000000;
constexpr uintptr_t kBytes = 0x801000;
constexpr uintptr_t kBlock = kBegin + kBytes - 0x940;

// A control block as glibc lays it out, with the three words at `index`.
std::vector<uintptr_t> control_block(size_t index, uintptr_t begin, uintptr_t bytes, uintptr_t guard) {
  std::vector<uintptr_t> words(288, 0);
  words[0] = words[2] = kBlock;  // tcb, self
  words[1] = 0x55550000;
  words[index] = begin;
  words[index + 1] = bytes;
  words[index + 2] = guard;
  return words;
}

StackBounds bounds_in(const std::vector<uintptr_t>& words) {
  return stack_in_control_block(words.data(), words.size(), kBlock);
}

TEST(StackInControlBlock, IsFoundWhereverItStands) {
  for (const size_t index : {90u, 0x690u / 8, 0x6a0u / 8, 285u}) {
    const StackBounds found = bounds_in(control_block(index, kBegin, kBytes, 4096));
    EXPECT_EQ(found.low, kBegin + 4096);
    EXPECT_EQ(found.high, kBlock);
    EXPECT_TRUE(found.is_whole);
  }
}

TEST(StackInControlBlock, OfTheProgramsOwnMakingHasNoGuard) {
  EXPECT_EQ(bounds_in(control_block(210, kBegin + 16, kBytes - 16, 0)).low, kBegin + 16);
}

TEST(StackInControlBlock, IsNotGuessed) {
  EXPECT_EQ(bounds_in(std::vector<uintptr_t>(288, 0)).high, 0u);
  EXPECT_EQ(bounds_in(control_block(210, 0, 0x7ffc00001000, 0)).high, 0u)
      << "the initial thread's: where its stack ends";
  EXPECT_EQ(bounds_in(control_block(210, kBlock, kBytes, 0)).high, 0u) << "begins at the block";
  EXPECT_EQ(bounds_in(control_block(210, kBegin, kBytes / 2, 0)).high, 0u) << "ends below the block";
  EXPECT_EQ(bounds_in(control_block(210, kBegin, kBytes + (2u << 20), 0)).high, 0u) << "ends far above the block";
  EXPECT_EQ(bounds_in(control_block(210, kBegin, UINTPTR_MAX, 0)).high, 0u) << "more than there is";
  EXPECT_EQ(bounds_in(control_block(210, kBegin, kBytes, 100)).high, 0u) << "no guard is that long";
  EXPECT_EQ(bounds_in(control_block(210, kBegin, kBytes, kBytes)).high, 0u) << "nothing is left";
  EXPECT_EQ(bounds_in({}).high, 0u);
}

void* own_bounds(void* result) {
  const uintptr_t block = arch::native::thread_pointer();
  std::array<uintptr_t, 288> words;
  std::memcpy(words.data(), reinterpret_cast<const void*>(block), sizeof(words));
  *static_cast<StackBounds*>(result) = stack_in_control_block(words.data(), words.size(), block);
  return nullptr;
}

TEST(StackInControlBlock, IsWhatThisLibrarySays) {
  constexpr size_t kStackBytes = 1u << 20;
  std::vector<char> memory(kStackBytes);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  for (const bool own_memory : {false, true}) {
    if (own_memory) {
      ASSERT_EQ(pthread_attr_setstack(&attributes, memory.data(), kStackBytes), 0);
    } else {
      ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
    }
    StackBounds found;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, &attributes, own_bounds, &found), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    EXPECT_GT(found.high - found.low, kStackBytes - 65536);
    EXPECT_LT(found.high - found.low, kStackBytes + 65536);
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    EXPECT_EQ(found.low == begin, own_memory);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace
}  // namespace heaptap::agent
