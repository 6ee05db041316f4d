// Collector side of the exit handshake (common/wire/exit_handshake.h): takes the agent's offer, shows progress, and lets the
// program end.
#pragma once
#include <sys/types.h>

#include <optional>

#include "common/wire/log.h"

namespace heaptap::log {

// The agent's notice, while it is being offered.
std::optional<wire::ExitNotice> offered_exit(const wire::LogHeader& log);

// Copies the agent's notice, once; from then on the program waits.
std::optional<wire::ExitNotice> take_exit_notice(wire::LogHeader& log);

// Call at least every wire::kExitPatienceMs, else the program continues.
void show_progress(wire::LogHeader& log);

// Asks the agent to permit process `reader` to read the memory, where Yama forbids it otherwise, and waits. False: no
// answer.
bool ask_access(wire::LogHeader& log, pid_t reader);

// What was offered isn't the end of the process, but of a child that shares its memory.
void decline_exit(wire::LogHeader& log);

// Whether the program is still waiting.
bool waits_at_exit(const wire::LogHeader& log);

// Lets the program end. False: it ended without waiting, so that the memory read can't be relied on.
bool finish_exit(wire::LogHeader& log);

}  // namespace heaptap::log
