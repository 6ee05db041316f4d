// The agent's session: whether this process is recorded, into which log. One per process; a forked child begins anew.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/call_stack.h"
#include "agent/core/last_writer_table.h"
#include "agent/core/leftovers.h"
#include "agent/core/platform.h"
#include "agent/core/totals.h"
#include "wire/log.h"
#include "wire/log_layout.h"

namespace heaptap::agent {

enum class SessionState : uint32_t {
  kUnknown = 0,  // nothing was tried yet in this process; also in a forked child, where the page below reads zero
  kStarting = 1,
  kRecording = 2,
  kOff = 3,
};

// Lives in a page of its own that the kernel clears in forked children (MADV_WIPEONFORK): also one that was made without
// libc's fork can't go on writing into its parent's log.
struct alignas(4096) SessionPage {
  std::atomic<SessionState> state;
  std::atomic<uint32_t>
      exiting_thread;  // the kernel's id of the thread that offered a last look, see exit_request.h; 0: none did
  uint8_t padding[4096 - sizeof(std::atomic<SessionState>) - sizeof(std::atomic<uint32_t>)];
};

struct alignas(64) Session {
  // What most events need comes first, in few lines of a cache.
  wire::LogHeader* log = nullptr;  // its layout is asked of `layout` alone
  bool is_plain = false;           // events are records, of all callers
  bool counts_time =
      false;  // the processor's clock can't be trusted, or reading it would kill the process: see clock.h
  bool omits = false;
  LastWriterTable owners;
  UnwindTables unwind;
  wire::StreamSlot* slots = nullptr;
  std::atomic<uint8_t*> chunks{nullptr};
  std::atomic<uint32_t> mapped_chunks{0};   // of the log's, from the first on
  std::atomic<uint32_t> mapping_chunks{0};  // 1: more of them are being mapped
  std::atomic<bool> cannot_grow{false};     // tried in vain
  std::atomic<size_t> log_bytes{0};
  uint32_t number = 0;              // counts sessions of this process and its forked ancestors
  int process = 0;                  // pid that it was started in; 0: never
  uint32_t flags = 0;               // wire::SessionFlag
  bool knows_thread_place = false;  // the C library keeps each thread's number where it is known to
  unsigned long ptracer = 0;        // whom the program allowed to trace it (PR_SET_PTRACER)
  CodeExtent loader_code{};
  TotalsBook totals;
  wire::CheckedLayout layout{};
  Leftovers leftovers;
};

extern SessionPage g_session_page;
extern Session g_session;

// The state as hooks see it. The first call in a process tries to start a session.
bool start_session();

// How much of the log is mapped from its start on. What it may grow by would count in limits and be locked with all of the
// program's memory (mlockall), so it isn't mapped before it is needed, and lies elsewhere then.
size_t first_mapping_bytes(const wire::LogLayout& log);

// The collector lets the log grow: maps chunks from this one on, as many as may be used now. False: it isn't there.
bool map_more_chunks(uint32_t first);

// The kernel's number of the calling thread; 0: not known. Asks the kernel where that may be.
uint32_t thread_id();

inline bool is_recording() {
  const SessionState state = g_session_page.state.load(std::memory_order_relaxed);
  if (state == SessionState::kRecording) [[likely]]
    return true;
  return state == SessionState::kUnknown && start_session();
}

}  // namespace heaptap::agent
