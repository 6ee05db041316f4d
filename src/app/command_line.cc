#include "app/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/command_options.h"
#include "app/completions.h"
#include "app/trace_file.h"
#include "wire/handshake.h"

namespace heaptap::app {
namespace {

constexpr std::string_view kHelp =
    R"(heaptap shows where the memory of a C or C++ program goes, who still holds it, and what leaks.

  heaptap run [options] [--] PROGRAM [ARG...]   trace a program (`heaptap PROGRAM` means the same)
  heaptap attach [options] PID...               trace running processes; Ctrl-C or --duration 30s detaches
  heaptap show VIEW TRACE [--json] [options]    read a trace; VIEW is one of
                                                summary leaks top tree stats sizes lifetimes timeline blocks
  heaptap leaks PID [--json] [options]          scan a process for leaks now, while it is being recorded
  heaptap mark PID NAME                         name this moment of a recording, for --from, --to, --since
  heaptap console [PID|TRACE] [-x COMMAND]      look at a recording and steer it, by commands
  heaptap top [PID|TRACE|PROGRAM] [options]     show the memory of a process live, on the screen
  heaptap check TRACE... --max-leaked 0         fail if a trace exceeds a limit: leaks, peak, ...
  heaptap diff BEFORE AFTER [options]           compare two traces: which stacks grew, are new, are gone
  heaptap report [TRACE] [--open]               write a report to explore in a browser, one HTML file
  heaptap export --to FORMAT [TRACE] [-o FILE]  write a trace in the format of another tool
  heaptap doctor [PROGRAM|PID]                  check what prevents recording, and how to fix it
  heaptap discover [--watch] [--json]           find what heaptap-target announces on the local network
  heaptap symbols serve DIR...                  give other machines names, lines and rows for unwinding
  heaptap connect ADDRESS|FILE                  take over what heaptap-target records by itself
  heaptap pair [ADDRESS KEY]                    make this machine and a target known to each other
  heaptap help [COMMAND]                        this text, or the options of a command
  heaptap --version

The trace is heaptap.<program>.<pid>.htap in the working directory unless -o FILE says otherwise;
heaptap.latest.htap links to the newest one, which show, report and export take where none is named.
)";

constexpr std::array<std::string_view, 1> kPlanned{"serve"};

base::Result<Command> parse_help(const Arguments& arguments, const Defaults& defaults);

// Every command: its name, and what reads its options. What it then does is the overload of perform() for these options.
struct NamedCommand {
  std::string_view name;
  base::Result<Command> (*parse)(const Arguments& rest, const Defaults& defaults);
};
constexpr std::array kCommands{
    NamedCommand{"run", parse_run},         NamedCommand{"attach", parse_attach},
    NamedCommand{"show", parse_show},       NamedCommand{"leaks", parse_leaks},
    NamedCommand{"mark", parse_mark},       NamedCommand{"check", parse_check},
    NamedCommand{"export", parse_export},   NamedCommand{"report", parse_report},
    NamedCommand{"doctor", parse_doctor},   NamedCommand{"completions", parse_completions},
    NamedCommand{"diff", parse_diff},       NamedCommand{"console", parse_console},
    NamedCommand{"top", parse_top},         NamedCommand{"discover", parse_discover},
    NamedCommand{"symbols", parse_symbols}, NamedCommand{"connect", parse_connect},
    NamedCommand{"pair", parse_pair},       NamedCommand{"help", parse_help},
};

base::Result<Command> parse_named(const std::string& name, const Arguments& rest, const Defaults& defaults) {
  const auto* command = std::ranges::find(kCommands, name, &NamedCommand::name);
  if (command != kCommands.end()) return command->parse(rest, defaults);
  return base::fail_as(base::ErrorKind::kUsage,
                       "`{}` is not available in this version of heaptap; `heaptap help` lists what is. (A program "
                       "of this name is traced with `heaptap run {}`)",
                       name, name);
}

bool is_command(const std::string& name) {
  return std::ranges::find(kCommands, name, &NamedCommand::name) != kCommands.end() ||
         std::ranges::find(kPlanned, name) != kPlanned.end();
}

base::Result<Command> parse_help(const Arguments& arguments, const Defaults& defaults) {
  if (arguments.empty()) {
    return PrintText{std::string(kHelp)};
  }
  if (arguments.front() == "help") {
    return PrintText{"heaptap help [COMMAND]: what heaptap can do, or the options of a command\n"};
  }
  if (!is_command(arguments.front())) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown command '{}': `heaptap help` lists the commands",
                         arguments.front());
  }
  return parse_named(arguments.front(), {"--help"}, defaults);
}

}  // namespace

std::vector<KnownCommand> known_commands() {
  std::vector<KnownCommand> known;
  KnownOption topics{.names = {}, .value = "COMMAND"};
  for (const NamedCommand& command : kCommands) {
    // The one is what calls this, the other has no table of options.
    if (command.parse == parse_completions || command.parse == parse_help) continue;
    topics.words.emplace_back(command.name);
    const auto help = command.parse({"--help"}, {});
    if (!help || !std::holds_alternative<PrintText>(*help)) continue;
    const auto& text = std::get<PrintText>(*help);
    known.push_back({std::string(command.name), text.summary, text.options});
  }
  known.push_back({"help", "Print the options of a command", {std::move(topics)}});
  return known;
}

base::Result<Command> parse_command_line(const std::vector<std::string>& arguments, const Defaults& defaults) {
  if (arguments.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "nothing to do\n\n{}", kHelp);
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") {
    return PrintText{std::string(kHelp)};
  }
  if (first == "--version" || first == "-V") {
    return PrintText{"heaptap " HEAPTAP_VERSION "\n"};
  }
  if (first == wire::kCollectOption) return parse_collect({arguments.begin() + 1, arguments.end()}, defaults);
  if (is_command(first)) {
    return parse_named(first, {arguments.begin() + 1, arguments.end()}, defaults);
  }
  if (is_trace(first)) return parse_show(arguments, defaults);
  return parse_run(arguments, defaults);
}

}  // namespace heaptap::app
