// `heaptap top`: a live picture of a process's memory, on the screen, as text or as JSON.
#pragma once
#include <string>
#include <vector>

#include "app/color_mode.h"
#include "app/machine_options.h"
#include "top/session.h"

namespace heaptap::app {

struct TopOptions {
  std::string target;      // a PID, the socket of a recording, a trace; empty: the one recording there is, or `command`
  MachineOptions machine;  // where these are
  std::vector<std::string> command;  // a program to start, with its arguments
  std::string output;                // where the trace of a recording that this begins stays; empty: nowhere
  bool once = false;
  bool json = false;
  ColorMode color = ColorMode::kAuto;
  top::TopSettings settings;
};

int perform(const TopOptions& options);

}  // namespace heaptap::app
