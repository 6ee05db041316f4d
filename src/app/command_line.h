// Command line parser: command and options. Error messages use the user's words.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "app/check_command.h"
#include "app/console_command.h"
#include "app/diff_command.h"
#include "app/discover_command.h"
#include "app/doctor_command.h"
#include "app/export_command.h"
#include "app/known_option.h"
#include "app/leaks_command.h"
#include "app/mark_command.h"
#include "app/pair_command.h"
#include "app/report_command.h"
#include "app/run_command.h"
#include "app/settings.h"
#include "app/show_command.h"
#include "app/symbols_command.h"
#include "app/top_command.h"
#include "base/result.h"

namespace heaptap::app {

// Help, completions or the version, to be printed verbatim.
struct PrintText {
  std::string text;
  // For help on a command: its summary and options.
  std::string summary = {};
  std::vector<KnownOption> options = {};
};

using Command = std::variant<PrintText, RunOptions, CollectOptions, ShowOptions, LeaksOptions, CheckOptions,
                             ExportOptions, ReportOptions, DoctorOptions, DiffOptions, MarkOptions, ConsoleOptions,
                             TopOptions, DiscoverOptions, SymbolsOptions, PairOptions>;

// `arguments` without the program's own name; `defaults`: options from configuration.
base::Result<Command> parse_command_line(const std::vector<std::string>& arguments, const Defaults& defaults = {});

}  // namespace heaptap::app
