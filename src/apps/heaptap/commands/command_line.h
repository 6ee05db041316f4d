// Command line parser: command and options. Error messages use the user's words.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "apps/heaptap/commands/check_command.h"
#include "apps/heaptap/commands/diff_command.h"
#include "apps/heaptap/commands/discover_command.h"
#include "apps/heaptap/commands/export_command.h"
#include "apps/heaptap/commands/leaks_command.h"
#include "apps/heaptap/commands/mark_command.h"
#include "apps/heaptap/commands/pair_command.h"
#include "apps/heaptap/commands/report_command.h"
#include "apps/heaptap/commands/run_command.h"
#include "apps/heaptap/commands/show_command.h"
#include "apps/heaptap/commands/symbols_command.h"
#include "apps/heaptap/commands/top_command.h"
#include "apps/heaptap/console/console_command.h"
#include "apps/heaptap/doctor/doctor_command.h"
#include "apps/heaptap/mcp/mcp_command.h"
#include "apps/heaptap/options/known_option.h"
#include "apps/heaptap/options/settings.h"
#include "common/base/result.h"

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
                             TopOptions, DiscoverOptions, SymbolsOptions, PairOptions, McpOptions>;

// `arguments` without the program's own name; `defaults`: options from configuration.
base::Result<Command> parse_command_line(const std::vector<std::string>& arguments, const Defaults& defaults = {});

}  // namespace heaptap::app
