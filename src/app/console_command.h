// `heaptap console`: a recording that is looked at and steered by commands, typed or of a script.
#pragma once
#include <string>
#include <vector>

#include "app/settings.h"
#include "app/terminal.h"

namespace heaptap::app {

struct ConsoleOptions {
  std::string target;                 // a PID, a socket, a trace; empty: what is offered
  std::vector<std::string> commands;  // that are carried out in place of those that are typed
  bool no_pager = false;
  ColorMode color = ColorMode::kAuto;
  Defaults defaults;  // of what its commands take as options
};

// Returns heaptap's exit status.
int perform(const ConsoleOptions& options);

}  // namespace heaptap::app
