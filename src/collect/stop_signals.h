// Signals that heaptap gets while it records. While a program that it started runs, they are meant for that one: the
// terminal's reach it by themselves, others are handed on. Else they ask for the end of the recording. SIGUSR1 is for heaptap.
#pragma once
#include <sys/types.h>

namespace heaptap::collect::stop_signals {

// From now on; 0: there is no program, or not any more.
void forward_to(pid_t program);

// From now on: they are for others, which heaptap outlives.
void ignore_all();

// How often somebody asked for the end.
int requests();

// The signal that asked last; 0: none did.
int last_request();

// How often of these by another process, not by the terminal, which reaches all processes that belong to it.
int requests_by_processes();

// SIGUSR1 asks for reports. From now on; to be called before a program is started. Where heaptap was started with it blocked, it
// waits for forward_to() or ignore_all().
void take_report_requests();
// How often it came.
int report_requests();
// In the child that becomes the program: what heaptap was started with holds for it. Async-signal-safe.
void give_back();

}  // namespace heaptap::collect::stop_signals
