// Where the calling thread's own stack lies, from what the C library wrote down of it when it made the thread.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::agent {

inline constexpr uintptr_t kPage = 4096;
constexpr uintptr_t page_of(uintptr_t address) { return address & ~(kPage - 1); }

struct StackBounds {
  uintptr_t low = 0;
  uintptr_t high = 0;     // 0: not known
  bool is_whole = false;  // all of it is the stack's memory; else it is a limit up to which the stack may have grown
  uintptr_t own_low = 0;  // from here on nothing else can lie between a thread that runs there and `high`
};

// Of the thread that has this control block, whose first `count` words are given. high is 0 where it doesn't say it.
//
// glibc lays its control block (struct pthread) into the top of each stack, of its own making or the program's, and writes into
// it, side by side, where that piece of memory begins, how long it is, and how much of that is the guard: stackblock,
// stackblock_size, guardsize (nptl/descr.h, allocatestack.c, the same from 2.28 to 2.41). Where in the block differs, so they
// are looked for: a piece of memory that begins below the block and ends a little above where the block begins.
inline StackBounds stack_in_control_block(const uintptr_t* words, size_t count, uintptr_t control_block) {
  constexpr uintptr_t kLeastAbove = 512;  // the block is larger, and what is above it is little, but for its alignment
  constexpr uintptr_t kMaxAbove = 1u << 20;
  for (size_t i = 0; i + 2 < count; ++i) {
    const uintptr_t begin = words[i];
    const uintptr_t bytes = words[i + 1];
    const uintptr_t guard = words[i + 2];
    if (begin < kPage || begin >= control_block || bytes <= control_block - begin) continue;
    const uintptr_t above = bytes - (control_block - begin);
    if (above < kLeastAbove || above > kMaxAbove) continue;
    if (guard % kPage == 0 && guard < control_block - begin) return {begin + guard, control_block, true, begin + guard};
  }
  return {};
}

// Of a mapping that the program makes: the initial stack can't have grown into it.
void note_mapping_made(uintptr_t begin, uintptr_t end);
// Above all mappings that were made where the initial stack would grow; 0: none was.
uintptr_t initial_stack_floor();

// Before the first walk, where the kernel may be asked: how far the initial stack may grow.
void note_initial_stack_limit();

// The calling thread's; of the initial thread the stack that the kernel made. Asks the kernel.
StackBounds find_thread_stack();

}  // namespace heaptap::agent
