// The collector's side of a program's end (wire/exit_handshake.h): takes what an agent offers, says how it goes on, and lets the
// program end.
#pragma once
#include <sys/types.h>

#include <optional>

#include "wire/log.h"

namespace heaptap::log {

// A copy of what the agent says, once; from then on the program waits.
std::optional<wire::ExitNotice> take_exit_notice(wire::LogHeader& log);

// To be called at least every wire::kExitPatienceMs, else the program goes on.
void show_progress(wire::LogHeader& log);

// Asks the agent to let process `reader` read the memory, where Yama forbids it otherwise, and waits for it. False: it
// didn't answer.
bool ask_access(wire::LogHeader& log, pid_t reader);

// Whether it waits still.
bool waits_at_exit(const wire::LogHeader& log);

// Lets the program end. False: it did without waiting, so that what was read of its memory can't be relied on.
bool finish_exit(wire::LogHeader& log);

}  // namespace heaptap::log
