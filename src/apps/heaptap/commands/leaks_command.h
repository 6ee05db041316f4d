// `heaptap leaks PID`: leak scan of a process by the heaptap that records it, and the result.
#pragma once
#include <sys/types.h>

#include <string>

#include "apps/heaptap/commands/show_command.h"

namespace heaptap::app {

struct LeaksOptions {
  pid_t process = 0;
  std::string host;  // of its recording; empty: this machine
  ShowOptions show;  // display options; the trace is the scan's
};

// Returns heaptap's exit status.
int perform(const LeaksOptions& options);

}  // namespace heaptap::app
