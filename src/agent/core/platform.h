// Interface between the core and its host environment: the calling thread's state, a log, the loaded objects, stack
// bounds, the core's own code. Implemented by the preloaded library (agent/preload/platform.cc); an injected or linked
// agent could implement it too. Which system calls may be made is decided in the core (call_permission.h), and every
// function here obeys that. Unless it says otherwise, a function changes no errno and takes no lock that a forked child
// could find taken.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/code_extent.h"
#include "common/wire/functions.h"
#include "common/wire/handshake.h"
#include "common/wire/log.h"

namespace heaptap::agent {

struct Label;
struct ThreadState;

// State of syscall user dispatch of a thread (PR_SET_SYSCALL_USER_DISPATCH), where calls outside of some code raise SIGSYS. Used by Wine.
struct CallDispatch {
  uintptr_t is_on;  // 1: the agent's calls are dispatched
  // Null, or dispatch applies while this byte isn't 0 (SYSCALL_DISPATCH_FILTER_ALLOW).
  const volatile uint8_t* selector;
};

// Per-thread anchor, zeroed when the thread starts. Lives until the thread can run no more code.
struct ThreadAnchor {
  static constexpr uint32_t kLevels = 3;  // the thread itself, a signal handler over it, one over that
  uint32_t ready_for;  // UnwindTables::changes for which its next event needs no special handling; 0: none
  uint32_t level;      // number of states in use right now
  uint32_t session;    // number of the session that they belong to
  uint32_t is_strict;  // 1: in strict seccomp mode, where a system call ends the thread (call_permission.h)
  CallDispatch dispatch;
  uintptr_t inside_real;  // stack address of the hook whose real function may call others; 0: none
  ThreadState* states[kLevels];
  uint64_t last_block;   // last block that it allocated; only with --aggregate
  const Label* tag;      // its innermost tag; null: none
  uint32_t unkept_tags;  // tags inside of that for which there was no room
  // Where blocks are sampled (sampler.h).
  uint64_t sample_left;     // bytes before the thread's next sample; 0: or it has none yet
  uint64_t sample_seed;     // of the one after that
  wire::CallCounts* calls;  // null: it hasn't begun to count

  // In ready_for: its events are counted, not recorded.
  static constexpr uint32_t kCounts = 1u << 31;

  // Whether it can record at once: no record is being made, and states[0] belongs to this session and knows all its code.
  [[nodiscard]] bool is_ready(uint32_t changes) const { return ((ready_for ^ changes) | level) == 0; }
  // The same for counting.
  [[nodiscard]] bool is_ready_to_count(uint32_t changes) const { return is_ready(changes ^ kCounts); }
};

struct ModuleFacts {
  uint64_t bias;
  uint64_t start;
  uint64_t end;
  uint64_t unwind_header;        // .eh_frame_hdr, or .ARM.exidx; 0: none
  uint64_t unwind_header_bytes;  // of the latter
  uint64_t tables_start;         // the readable segment that holds the unwind tables
  uint64_t tables_end;
  uint64_t entry;  // entry point of the program and of the loader, biased; 0: none
  const char* path;
  const uint8_t* build_id;
  uint32_t build_id_bytes;
  bool is_main;
  bool is_vdso;
  bool is_go;  // made by the Go tools, possibly with some C code
  // Finds what the object exports, with `symbols`; null: it can't be asked.
  const void* symbols;
  void* (*find_symbol)(const void* symbols, const char* name, uintptr_t& bytes);
};

namespace platform {

// Calls visit(context, module) for each loaded object. May take the loader's lock: called at the start of a session
// that isn't a forked child's, and while the loader itself calls the allocator.
void for_each_module(void (*visit)(void* context, const ModuleFacts& module), void* context);

// Calls visit for the object that contains this address, and returns whether there is one. Takes no lock; false where
// it can't be found without one.
bool visit_module_at(uintptr_t address, void (*visit)(void* context, const ModuleFacts& module), void* context);

// Changes whenever an object is loaded or unloaded, as far as the loader's state can be read: it counts as changed while it is at work.
uint64_t module_changes();

// Log of this process: shared memory that is mapped and writable. The core checks its contents.
struct LogMemory {
  enum class Answer : uint8_t {
    kGiven,
    kRefused,      // this process gets none
    kNobodyThere,  // nobody answered: the process should have one
  };
  Answer answer;
  void* start;
  uint64_t bytes;
};

// Whether there is a collector to ask at all. Makes no system call.
bool has_log_source();

// Called once a process, before it records: may wait, bounded, for the answer.
LogMemory get_log(wire::StartReason reason);

// Outcome of get_log(), once the session has begun. Null: the process isn't recorded.
void note_session(wire::StartReason reason, wire::LogHeader* log);

// Number of system call filters that the process may have been started under, without having installed them.
uint32_t filters_at_start();

// The agent's own code: frames in it are no part of the program's call stacks.
CodeExtent own_code();

// The loader's code, which calls the allocator as it loads and unloads.
CodeExtent loader_code();

// The caller of an event is the loader: objects may be loaded or unloaded.
void note_loader_call();

// Call once, before there are threads, where system calls may be made: from now on forked children are recognized.
void note_first_process();

// Highest address of the initial thread's stack, roughly; 0: unknown.
uintptr_t initial_stack_top();

// The calling thread's.
ThreadAnchor& thread_anchor();

// The thread's control block, which a C library puts at the top of each stack that it makes; 0: unknown. Its first page
// is readable from its start on.
uintptr_t thread_control_block();

// The kernel's number of the calling thread, read from the C library's place for it in the control block; reliable
// where it was right once. 0: it can't be read there.
uint32_t thread_number_in_block();

// Whether the agent makes system calls of its own, as long as the program permits any (call_permission.h).
bool makes_calls();

// Whether this is the process that the session was started in, not a child that shares its memory (vfork). True also where only the
// collector can tell.
bool is_own_process();

// How a thread waits for the collector at the program's end (exit_request.h).
bool may_wait_at_end();
// For a change of the word, at most so long. Returns what futex(2) would.
long wait_at_end(const std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds);
// Who waits for a change of the word: the collector, or another thread.
void wake_at_end(const std::atomic<uint32_t>& word);
// The longest wait without a sign of progress.
uint32_t exit_patience_ms();

}  // namespace platform
}  // namespace heaptap::agent
