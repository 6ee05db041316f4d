// What a door gives the core: the state of the calling thread, the real functions, the list of modules. The core knows
// no other way to the process that it is in. The first door is the preloaded library (door_preload.cc).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "wire/functions.h"

namespace heaptap::agent {

struct ThreadState;

// One per thread, zeroed when the thread starts. Lives as long as the thread can run code at all.
struct ThreadAnchor {
  static constexpr uint32_t kLevels = 3;  // the thread itself, a signal handler over it, one over that
  uint32_t ready_for;     // UnwindTables::changes for which nothing is special about its next event; 0: none
  uint32_t level;         // how many of the states are at work right now
  uint32_t session;       // they belong to the session of this number
  uint32_t is_strict;     // 1: in strict seccomp mode, where a system call ends the thread (call_permission.h)
  uintptr_t inside_real;  // stack address of the hook whose real function may call others; 0: none
  ThreadState* states[kLevels];
  uint64_t last_block;  // that it allocated; only with --aggregate

  // Whether it can record at once: nothing is being recorded, and states[0] is for this session and knows all its code.
  [[nodiscard]] bool is_ready(uint32_t changes) const { return ((ready_for ^ changes) | level) == 0; }
};

struct ModuleFacts {
  uint64_t bias;
  uint64_t start;
  uint64_t end;
  uint64_t unwind_header;  // .eh_frame_hdr; 0: none
  uint64_t tables_start;   // the readable segment that holds the unwind tables
  uint64_t tables_end;
  uint64_t entry;  // of the program and of the loader, where they begin, biased; 0: none
  const char* path;
  const uint8_t* build_id;
  uint32_t build_id_bytes;
  bool is_main;
  bool is_vdso;
};

namespace door {

// Calls visit(context, module) for each loaded object.
void for_each_module(void (*visit)(void* context, const ModuleFacts& module), void* context);

// Changes whenever an object was loaded or unloaded, as far as the loader can be asked: it is, while it is at work.
uint64_t module_changes();

// To be called once, before there are threads, where the kernel may be asked: from now on forked children are known as such.
void note_first_process();

// The address range of the loader's code, whose calls of the allocator come with loading and unloading.
struct CodeRange {
  uintptr_t start;
  uintptr_t bytes;
  [[nodiscard]] bool holds(uintptr_t address) const { return address - start < bytes; }
};
CodeRange loader_code();

// Highest address of the initial thread's stack, roughly; 0: unknown.
uintptr_t initial_stack_top();

// The calling thread's.
ThreadAnchor& thread_anchor();

// The thread's control block, which a C library puts at the top of the stacks that it makes; 0: unknown. Its first page can be
// read, from its start on.
uintptr_t thread_control_block();

// The kernel's number of the calling thread, from the place in its control block where the C library should have it; to be
// believed where it was right once. 0: it can't be read there.
uint32_t thread_number_in_block();

}  // namespace door
}  // namespace heaptap::agent
