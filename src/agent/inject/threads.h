// State of the calling thread without thread-local storage: a table by the address of the C library's control block. Entries are only
// added; no lock, no system call. A thread that got the block of an ended one is known by its number.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/platform.h"
#include "common/arch/native.h"
#include "common/wire/injected_agent.h"

namespace heaptap::agent {

// By it a function is known that another one jumps to.
struct LastRelease {
  uintptr_t frame;  // of the hook
  uintptr_t return_address;
  uintptr_t block;
  uintptr_t hook;
};

struct ThreadEntry {
  std::atomic<uintptr_t> block;
  // Not 0: the thread is in the agent, or in a function that the agent has called, or has left one by longjmp.
  uint32_t is_within;
  uint32_t number;
  ThreadAnchor anchor;
  LastRelease last_release;
  uint8_t failed;  // wire::Function: the last operator new for which malloc had no memory; 0: none has been
};
static_assert(offsetof(ThreadEntry, is_within) == offsetof(wire::InjectedThread, is_within));

inline constexpr size_t kThreadEntries = 4096;
// The last one is for all threads in functions that aren't recorded.
extern ThreadEntry g_threads[kThreadEntries + 1];

// For a thread that isn't known yet, or whose number changed. Null: the table is full.
ThreadEntry* find_or_add_thread(uintptr_t block, uint32_t number);

inline size_t thread_hash(uintptr_t block) { return (block >> 6) * 0x9e3779b97f4a7c15u >> 52; }

inline uint32_t number_in_block(uintptr_t block) {
  return *reinterpret_cast<const volatile uint32_t*>(block + arch::native::kGlibcThreadNumber);
}

// Null: there is no room for one more thread.
inline ThreadEntry* this_thread() {
  const uintptr_t block = arch::native::thread_pointer();
  const uint32_t number = number_in_block(block);
  ThreadEntry& likely = g_threads[thread_hash(block)];
  if (likely.block.load(std::memory_order_relaxed) == block && likely.number == number) [[likely]]
    return &likely;
  return find_or_add_thread(block, number);
}

}  // namespace heaptap::agent
