// Exit handshake on the agent's side: offers the collector a last scan of the memory at the program's end, and waits
// for it, bounded. Called where the program ends (agent/preload/exit_hooks.cc, agent/inject/exits.cc) and on fatal signals
// (exit_signals.h).
#pragma once
#include <stdint.h>

#include "agent/core/platform.h"
#include "agent/core/session.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::agent {

// Whether this process offers a scan at its end. Starts no session.
inline bool watches_exit() {
  return g_session_page.state.load(std::memory_order_relaxed) == SessionState::kRecording &&
         (g_session.flags & wire::kScanAtEnd) != 0 && platform::may_wait_at_end();
}

// The calling thread is about to end the process. `notice`: complete but for the thread. Runs once a process; other threads
// that get here in the meantime leave it to the first. No effect in a child that shares its parent's memory (vfork). False: the
// collector says that this is such a child, of which nothing is remembered.
bool offer_scan(const wire::ExitNotice& notice);

// The same before destructors and exit handlers run: the process continues. Once a process, and not if the thread was
// interrupted in a record. The scan at the end ends it, whichever thread offers that.
// `notice`: of kExitBegins, complete but for the thread.
void offer_scan_before_handlers(const wire::ExitNotice& notice);
inline void offer_scan_before_handlers(uint64_t live_sp) {
  offer_scan_before_handlers({.kind = wire::ExitKind::kExitBegins,
                              .thread_id = 0,
                              .live_sp = live_sp,
                              .interrupted_sp = live_sp,
                              .signal = 0,
                              .status = 0});
}

}  // namespace heaptap::agent
