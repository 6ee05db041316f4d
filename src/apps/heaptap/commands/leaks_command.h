// `heaptap leaks PID`: leak scan of a process by the heaptap that records it, or by one that attaches to it for a while; or of a core
// file; and the result.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "apps/heaptap/commands/show_command.h"
#include "apps/heaptap/options/machine_options.h"

namespace heaptap::app {

struct LeaksOptions {
  pid_t process = 0;
  std::string core;        // path of a core file, instead of a process
  std::string program;     // of the core: where its file is; empty: where it was
  MachineOptions machine;  // of the process
  // Of a process that isn't being recorded:
  uint64_t duration_ns = 10'000'000'000;  // time to record it before the scan
  std::string output;                     // trace to keep, also of a core; empty: none
  ShowOptions show;                       // display options; the trace is the scan's
};

// Returns heaptap's exit status.
int perform(const LeaksOptions& options);

}  // namespace heaptap::app
