// Bounds of the calling thread's own stack, as recorded by the C library when it made the thread.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/pages.h"

namespace heaptap::agent {

struct StackBounds {
  uintptr_t low = 0;
  uintptr_t high = 0;     // 0: unknown
  bool is_whole = false;  // all of it is the stack's memory; else a limit up to which the stack may have grown
  uintptr_t own_low = 0;  // from here to `high` there can be no other memory while a thread runs in between
};

// Bounds for the thread with this control block, whose first `count` words are given. high is 0 where they can't be found.
//
// glibc puts its control block (struct pthread) at the top of each stack, its own or the program's, and stores in it,
// side by side, where that memory begins, its size, and the size of its guard: stackblock, stackblock_size, guardsize
// (nptl/descr.h, allocatestack.c, the same from 2.28 to 2.41). Their offset in the block varies, so they are searched
// for: memory that begins below the block and ends a little above the block's start.
inline StackBounds stack_in_control_block(const uintptr_t* words, size_t count, uintptr_t control_block) {
  constexpr uintptr_t kLeastAbove = 512;  // the block is larger, and what is above it is little, but for its alignment
  constexpr uintptr_t kMaxAbove = 1u << 20;
  for (size_t i = 0; i + 2 < count; ++i) {
    const uintptr_t begin = words[i];
    const uintptr_t bytes = words[i + 1];
    const uintptr_t guard = words[i + 2];
    if (begin < page_bytes() || begin >= control_block || bytes <= control_block - begin) continue;
    const uintptr_t above = bytes - (control_block - begin);
    if (above < kLeastAbove || above > kMaxAbove) continue;
    if (guard % page_bytes() == 0 && guard < control_block - begin)
      return {begin + guard, control_block, true, begin + guard};
  }
  return {};
}

// A mapping made by the program: the initial stack can't have grown into it.
void note_mapping_made(uintptr_t begin, uintptr_t end);
// End of the highest mapping made where the initial stack would grow; 0: none was made.
uintptr_t initial_stack_floor();

// Reads how far the initial stack may grow. Call before the first walk, where system calls may be made.
void note_initial_stack_limit();

// Bounds of the calling thread's stack; for the initial thread, the stack made by the kernel. Asks the kernel.
StackBounds find_thread_stack();

}  // namespace heaptap::agent
