// Signals that heaptap gets while it records. While a program that it started runs, they are meant for that one: the
// terminal's reach it by themselves, others are handed on. Else they ask for the end of the recording.
#pragma once
#include <sys/types.h>

namespace heaptap::collect::stop_signals {

// From now on; 0: there is no program, or not any more.
void forward_to(pid_t program);

// How often somebody asked for the end.
int requests();

}  // namespace heaptap::collect::stop_signals
