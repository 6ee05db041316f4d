// `heaptap doctor`: capabilities of this machine, requirements of a program or process, and commands that fix what is missing.
#pragma once
#include <string>

namespace heaptap::app {

struct DoctorOptions {
  std::string target;  // a program, or a PID; empty: this machine alone
  bool json = false;
};

// Returns heaptap's exit status: 0 if nothing prevents recording, else 1.
int perform(const DoctorOptions& options);

}  // namespace heaptap::app
