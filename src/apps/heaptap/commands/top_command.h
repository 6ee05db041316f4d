// `heaptap top`: live view of a process's memory, full-screen, as text or as JSON.
#pragma once
#include <string>
#include <vector>

#include "apps/heaptap/options/color_mode.h"
#include "apps/heaptap/options/machine_options.h"
#include "views/top/session.h"

namespace heaptap::app {

struct TopOptions {
  std::string target;                // PID, recording socket or trace; empty: the only live recording, or `command`
  MachineOptions machine;            // machine of these
  std::vector<std::string> command;  // program to start, with its arguments
  std::string output;                // trace of a recording started here; empty: not kept
  bool once = false;
  bool json = false;
  ColorMode color = ColorMode::kAuto;
  top::TopSettings settings;
};

int perform(const TopOptions& options);

}  // namespace heaptap::app
