// Session of the agent: whether this process is recorded, and into which log. One per process; a forked child starts its own.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/call_stack.h"
#include "agent/core/growing_part.h"
#include "agent/core/interpreter.h"
#include "agent/core/last_writer_table.h"
#include "agent/core/leftovers.h"
#include "agent/core/pages.h"
#include "agent/core/platform.h"
#include "agent/core/sampler.h"
#include "agent/core/totals.h"
#include "common/wire/log.h"
#include "common/wire/log_layout.h"

namespace heaptap::agent {

enum class SessionState : uint32_t {
  kUnknown = 0,  // nothing was tried yet in this process; also in a forked child, where the page below reads zero
  kStarting = 1,
  kRecording = 2,
  kOff = 3,
};

// State in a page of its own that the kernel clears in forked children (MADV_WIPEONFORK): this prevents also a child
// made without libc's fork from writing into its parent's log.
struct alignas(kLargestPageBytes) SessionPage {
  std::atomic<SessionState> state;
  // The kernel's id of the thread that offered a last look, see exit_request.h; 0: none did.
  std::atomic<uint32_t> exiting_thread;
  std::atomic<uint32_t> exit_start;  // of the scan before the exit handlers: ExitStart of exit_request.cc
  uint8_t padding[kLargestPageBytes - sizeof(std::atomic<SessionState>) - 2 * sizeof(std::atomic<uint32_t>)];
};

struct alignas(64) Session {
  // The fields that most events need come first, in few cache lines.
  wire::LogHeader* log = nullptr;  // its layout is asked of `layout` alone
  bool is_plain = false;           // events are of all callers, with native stacks
  bool is_sampled = false;         // of the blocks, `sampler` chooses
  // The processor's clock can't be trusted, or reading it would kill the process: see clock.h.
  bool counts_time = false;
  bool omits = false;
  uint16_t short_kinds = 0;  // bits by RecordKind: events of which at most the caller is recorded
  LastWriterTable owners;
  UnwindTables unwind;
  wire::StreamSlot* slots = nullptr;
  GrowingPart chunks;
  size_t first_log_bytes = 0;
  uint32_t number = 0;                       // counts sessions of this process and its forked ancestors
  int process = 0;                           // PID of the process that it was started in; 0: never
  uint32_t flags = 0;                        // wire::SessionFlag
  bool knows_thread_place = false;           // the C library keeps each thread's number where it is known to
  unsigned long ptracer = 0;                 // the tracer that the program allowed (PR_SET_PTRACER)
  const Interpreter* interpreter = nullptr;  // whose frames are recorded; null: none
  CodeExtent loader_code{};
  TotalsBook totals;
  Sampler sampler;
  wire::CheckedLayout layout{};
  Leftovers leftovers;
};

extern SessionPage g_session_page;
extern Session g_session;

// The state as hooks see it. The first call in a process tries to start a session.
bool start_session();

// The parts of a log that are mapped at the start: its beginning, with the first chunks, and the first nodes. See GrowingPart.
struct FirstMappings {
  MappedPart beginning;
  MappedPart nodes;  // empty: within the beginning
};
FirstMappings first_mappings(wire::LogHeader* memory, const wire::LogLayout& log);

// The kernel's number of the calling thread; 0: unknown. Asks the kernel where permitted.
uint32_t thread_id();

inline bool is_recording() {
  const SessionState state = g_session_page.state.load(std::memory_order_acquire);
  if (state == SessionState::kRecording) [[likely]]
    return true;
  return state == SessionState::kUnknown && start_session();
}

}  // namespace heaptap::agent
