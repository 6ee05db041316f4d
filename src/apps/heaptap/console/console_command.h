// `heaptap console`: inspection and control of a recording by commands, interactive or from a script.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "apps/heaptap/options/color_mode.h"
#include "apps/heaptap/options/machine_options.h"
#include "apps/heaptap/options/settings.h"

namespace heaptap::app {

class SymbolsServer;

struct ConsoleOptions {
  std::string target;                 // PID, socket or trace; empty: a running recording of this user
  MachineOptions machine;             // machine of the processes
  std::vector<std::string> commands;  // executed in place of typed ones
  std::vector<std::string> symbols;   // directories searched first for symbol files
  std::vector<std::string> sysroots;
  std::shared_ptr<SymbolsServer> symbols_server;  // null: none
  bool no_pager = false;
  ColorMode color = ColorMode::kAuto;
  Defaults defaults;  // for the options of its commands
};

// Returns heaptap's exit status.
int perform(const ConsoleOptions& options);

}  // namespace heaptap::app
