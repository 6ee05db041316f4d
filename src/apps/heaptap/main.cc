// Entry point of the heaptap command.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "apps/heaptap/commands/command_line.h"
#include "apps/heaptap/commands/file_news.h"
#include "apps/heaptap/commands/interruption.h"
#include "apps/heaptap/commands/large_stack.h"
#include "apps/heaptap/commands/terminal.h"
#include "common/base/exit_status.h"
#include "common/base/own_limits.h"
#include "common/base/served_files.h"
#include "common/base/stop_signals.h"
#include "common/wire/handshake.h"

namespace {

using namespace heaptap;
using namespace heaptap::app;

int perform(const PrintText& print) {
  fmt::print("{}", print.text);
  return 0;
}

bool reads_traces(const Command& command) {
  return std::holds_alternative<ShowOptions>(command) || std::holds_alternative<CheckOptions>(command) ||
         std::holds_alternative<ExportOptions>(command) || std::holds_alternative<ReportOptions>(command) ||
         std::holds_alternative<DiffOptions>(command) || std::holds_alternative<McpOptions>(command);
}

int perform_command(int argc, char** argv) try {
  Defaults defaults = Defaults::of_environment();
  defaults.warn = [](const std::string& text) { print_error(fmt::format("heaptap: {}\n", text)); };
  base::ServedFiles::of_process().tell_by(
      [](const base::SilentFile& file, base::ServedFiles::Stage stage) { print_error(text_of(file, stage)); });
  const std::vector<std::string> arguments{argv + (argc > 0 ? 1 : 0), argv + argc};
  if (!arguments.empty() && arguments.front() == wire::kCollectOption) {
    base::stop_signals::ignore_all();
    print_errors_to(collectors_log(arguments));
  }
  // What a command line names may be read to see what it is.
  std::optional<supervision::OwnWaits> waits(watch_own_waits());
  const auto command = parse_command_line(arguments, defaults);
  if (!command) {
    print_error(fmt::format("heaptap: {}\n", command.error().message));
    return base::exit_status_of(command.error().kind);
  }
  const bool records = std::holds_alternative<RunOptions>(*command) ||
                       std::holds_alternative<CollectOptions>(*command) ||
                       std::holds_alternative<LeaksOptions>(*command);
  if (!records) interruption::clean_up_first();
  if (!reads_traces(*command)) waits.reset();  // they may fork
  const int status = std::visit([](const auto& options) { return perform(options); }, *command);
  print_awaited_files();
  return status;
} catch (const std::exception& error) {
  print_error(fmt::format("heaptap: internal error: {}\n", error.what()));
  return base::kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  heaptap::base::own_limits::lift();
  return run_on_large_stack(perform_command, argc, argv);
}
