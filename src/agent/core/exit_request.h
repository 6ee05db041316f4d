// The program's end, as far as the agent sees it coming: offers the collector a last look at the memory and waits for it,
// bounded. What leads here: the preloaded library's exit functions (agent/preload/exit_hooks.cc) and fatal signals
// (exit_signals.h).
#pragma once
#include <stdint.h>

#include "agent/core/call_permission.h"
#include "agent/core/session.h"
#include "wire/exit_handshake.h"

namespace heaptap::agent {

// Whether this process offers a look at its end. Starts no session.
inline bool watches_exit() {
  return g_session_page.state.load(std::memory_order_relaxed) == SessionState::kRecording &&
         (g_session.flags & wire::kScanAtEnd) != 0 && may_call();
}

// The calling thread is about to end the process. `notice`: all but the thread. Once a process; other threads that come here
// meanwhile let the first one end it. Does nothing in a child that shares its parent's memory (vfork).
void offer_scan(const wire::ExitNotice& notice);

}  // namespace heaptap::agent
