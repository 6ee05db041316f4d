// Environment of the agent's core (agent/core/platform.h) as a test provides it: threads are the test's own, no
// object is loaded, and the log is the one that the test gives.
#pragma once
#include "agent/core/session.h"
#include "capture/log/log_memory.h"

namespace heaptap::test {

// The log of the process's session, which begins with its first event; there is one session a process.
void give_log(const log::LogMemory& log);

// Who makes a session by hand leaves the process's own one as it was: the tests of one process have it in turn.
class KeptSession {
 public:
  KeptSession() = default;
  ~KeptSession();
  KeptSession(const KeptSession&) = delete;
  KeptSession& operator=(const KeptSession&) = delete;

 private:
  const agent::SessionState state_ = agent::g_session_page.state.load();
  const wire::LogLayout layout_ = agent::g_session.layout.log;
  wire::LogHeader* const log_ = agent::g_session.log;
  const decltype(agent::Session::process) process_ = agent::g_session.process;
  const decltype(agent::Session::flags) flags_ = agent::g_session.flags;
};

}  // namespace heaptap::test
