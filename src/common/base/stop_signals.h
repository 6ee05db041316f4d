// Termination signals of heaptap during a recording. While a program that it started runs, they are meant for the program: it
// gets the terminal's directly, others are forwarded. Otherwise they request the end of the recording. SIGUSR1 is for heaptap.
#pragma once
#include <sys/types.h>

namespace heaptap::base::stop_signals {

// From now on; 0: there is no program (any more).
void forward_to(pid_t program);

// From now on: the signals are for other processes, which heaptap outlives.
void ignore_all();

// Number of requests for the end.
int requests();

// The last such signal; 0: none.
int last_request();

// Number of these sent by a process, not by the terminal, whose signals reach all its processes.
int requests_by_processes();

// Makes SIGUSR1 request reports from now on; call before a program is started. If heaptap was started with it blocked,
// it stays blocked until forward_to() or ignore_all().
void take_report_requests();
// Number of report requests.
int report_requests();
// Call in the child that becomes the program: restores the state that heaptap was started with. Async-signal-safe.
void give_back();

}  // namespace heaptap::base::stop_signals
