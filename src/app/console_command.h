// `heaptap console`: a recording that is looked at and steered by commands, typed or of a script.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/color_mode.h"
#include "app/machine_options.h"
#include "app/settings.h"

namespace heaptap::app {

class SymbolsServer;

struct ConsoleOptions {
  std::string target;                 // a PID, a socket, a trace; empty: what is offered
  MachineOptions machine;             // where processes are
  std::vector<std::string> commands;  // that are carried out in place of those that are typed
  std::vector<std::string> symbols;   // where files with names are looked for first
  std::vector<std::string> sysroots;
  std::shared_ptr<SymbolsServer> symbols_server;  // null: there is none
  bool no_pager = false;
  ColorMode color = ColorMode::kAuto;
  Defaults defaults;  // of what its commands take as options
};

// Returns heaptap's exit status.
int perform(const ConsoleOptions& options);

}  // namespace heaptap::app
