// What the agent's core asks of its surroundings (agent/core/platform.h), as a test answers it: threads are the test's own, no
// object is loaded, and the log is the one that the test gives.
#pragma once
#include "log/log_memory.h"

namespace heaptap::test {

// The log of the process's session, which begins with its first event; there is one session a process.
void give_log(const log::LogMemory& log);

}  // namespace heaptap::test
