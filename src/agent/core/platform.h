// What the core needs of the process that it is in, and all that it needs: the state of the calling thread, a log, the loaded
// objects, the bounds of stacks, its own code. Whoever brings the core into a process gives this: the preloaded library does
// (agent/preload/platform.cc), what is injected or links the core could. Which system calls may be made is decided in the
// core (call_permission.h); every function here keeps to that, changes no errno, and takes no lock that a forked child
// could find taken, but where it says otherwise.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/code_extent.h"
#include "wire/functions.h"
#include "wire/handshake.h"
#include "wire/log.h"

namespace heaptap::agent {

struct Label;
struct ThreadState;

// A thread's system calls from outside of some code raise SIGSYS (PR_SET_SYSCALL_USER_DISPATCH), as Wine has it.
struct CallDispatch {
  uintptr_t is_on;                   // 1: those of the agent's
  const volatile uint8_t* selector;  // null, or as long as this byte isn't 0 (SYSCALL_DISPATCH_FILTER_ALLOW)
};

// One per thread, zeroed when the thread starts. Lives as long as the thread can run code at all.
struct ThreadAnchor {
  static constexpr uint32_t kLevels = 3;  // the thread itself, a signal handler over it, one over that
  uint32_t ready_for;  // UnwindTables::changes for which nothing is special about its next event; 0: none
  uint32_t level;      // how many of the states are at work right now
  uint32_t session;    // they belong to the session of this number
  uint32_t is_strict;  // 1: in strict seccomp mode, where a system call ends the thread (call_permission.h)
  CallDispatch dispatch;
  uintptr_t inside_real;  // stack address of the hook whose real function may call others; 0: none
  ThreadState* states[kLevels];
  uint64_t last_block;   // that it allocated; only with --aggregate
  const Label* tag;      // the innermost one that it is under; null: none
  uint32_t unkept_tags;  // inside of that, for which there was no room

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
  bool is_go;  // made by the Go tools, perhaps with C code among it
};

namespace platform {

// Calls visit(context, module) for each loaded object. May take the loader's lock: called as a session
// starts that isn't a forked child's, and while the loader itself calls the allocator.
void for_each_module(void (*visit)(void* context, const ModuleFacts& module), void* context);

// Calls visit for the object that holds this address, if one does, and says so. Takes no lock; where that can't be asked without one:
// false.
bool visit_module_at(uintptr_t address, void (*visit)(void* context, const ModuleFacts& module), void* context);

// Changes whenever an object was loaded or unloaded, as far as the loader can be asked: it is, while it is at work.
uint64_t module_changes();

// A log for this process: shared memory that is mapped and may be written. Its contents are checked by the core.
struct LogMemory {
  enum class Answer : uint8_t {
    kGiven,
    kRefused,      // there is none for this process
    kNobodyThere,  // nobody could be asked: the process should have one
  };
  Answer answer;
  void* start;
  uint64_t bytes;
};

// Whether there is somebody to ask at all. Makes no system call.
bool has_log_source();

// Once a process, before it records: may wait, bounded, for the answer.
LogMemory get_log(wire::StartReason reason);

// What came of it. Null: the process isn't recorded.
void note_session(wire::StartReason reason, wire::LogHeader* log);

// How many filters of system calls the process may have been started under without having asked for them.
uint32_t filters_at_start();

// The agent's own: frames in it are no part of the program's call stacks.
CodeExtent own_code();

// The loader's, whose calls of the allocator come with loading and unloading.
CodeExtent loader_code();

// An event's caller is the loader: objects may be coming or going.
void note_loader_call();

// To be called once, before there are threads, where the kernel may be asked: from now on forked children are known as such.
void note_first_process();

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

}  // namespace platform
}  // namespace heaptap::agent
