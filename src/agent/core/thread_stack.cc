#include "agent/core/thread_stack.h"

#include <atomic>

#include "agent/core/kernel.h"
#include "agent/core/own_address.h"
#include "agent/core/pages.h"
#include "agent/core/platform.h"

namespace heaptap::agent {
namespace {

constexpr size_t kMaxWords = 320;  // of a control block: glibc's has 288 to 296

// Below the initial stack the kernel keeps a gap as large as the stack limit at the start; usually 128 MiB at least
// (mmap_base in arch/x86/mm/mmap.c).
constexpr uintptr_t kLargestInitialStack = 64u << 20;
constinit uintptr_t g_kept_free = 0;
constinit std::atomic<uintptr_t> g_floor{0};

uintptr_t initial_stack_top() { return platform::initial_stack_top() & ~(sizeof(uintptr_t) - 1); }

}  // namespace

void note_mapping_made(uintptr_t begin, uintptr_t end) {
  const uintptr_t top = initial_stack_top();
  if (begin >= top || top - begin > kLargestInitialStack) return;
  uintptr_t floor = g_floor.load(std::memory_order_relaxed);
  while (floor < end && !g_floor.compare_exchange_weak(floor, end, std::memory_order_relaxed)) {
  }
}

uintptr_t initial_stack_floor() { return g_floor.load(std::memory_order_relaxed); }

void note_initial_stack_limit() {
  const uint64_t limit = kernel::soft_limit(kernel::kStackLimit);
  g_kept_free = limit < kLargestInitialStack ? own_address(limit) : kLargestInitialStack;
}

StackBounds find_thread_stack() {
  const uintptr_t block = platform::thread_control_block();
  if (block != 0) {
    const auto* words = reinterpret_cast<const uintptr_t*>(block);
    const uintptr_t next_page = page_begin(block) + page_bytes();
    const size_t on_this_page = (next_page - block) / sizeof(uintptr_t);
    StackBounds found = stack_in_control_block(words, on_this_page < kMaxWords ? on_this_page : kMaxWords, block);
    if (found.high == 0 && on_this_page < kMaxWords && kernel::is_readable(next_page))
      found = stack_in_control_block(words, kMaxWords, block);
    if (found.high != 0) return found;
  }
  const uintptr_t top = initial_stack_top();
  if (top < kLargestInitialStack) return {};
  return {.low = top - kLargestInitialStack, .high = top, .is_whole = false, .own_low = top - g_kept_free};
}

}  // namespace heaptap::agent
