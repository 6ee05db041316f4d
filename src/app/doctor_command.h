// `heaptap doctor`: what this machine allows, what a program or a process needs, and the commands that fix what is missing.
#pragma once
#include <string>

namespace heaptap::app {

struct DoctorOptions {
  std::string target;  // a program, or the pid of a process; empty: this machine alone
  bool json = false;
};

// Returns heaptap's exit status: 0 where nothing prevents recording, else 1.
int perform(const DoctorOptions& options);

}  // namespace heaptap::app
