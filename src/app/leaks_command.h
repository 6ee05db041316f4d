// `heaptap leaks PID`: asks the heaptap that traces the process for a leak scan, and shows what it found.
#pragma once
#include <sys/types.h>

#include <string>

#include "app/show_command.h"

namespace heaptap::app {

struct LeaksOptions {
  pid_t process = 0;
  std::string host;  // of its recording; empty: this machine
  ShowOptions show;  // how; the trace is the one that the scan is in
};

// Returns heaptap's exit status.
int perform(const LeaksOptions& options);

}  // namespace heaptap::app
