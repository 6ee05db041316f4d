#include "apps/heaptap/commands/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/completions/completions.h"
#include "apps/heaptap/options/command_options.h"
#include "common/base/command_search.h"
#include "common/base/nearest_word.h"
#include "common/base/safe_text.h"
#include "common/wire/handshake.h"
#include "views/text/fold.h"

namespace heaptap::app {
namespace {

// With discover_help() between them.
constexpr std::string_view kHelp =
    R"(heaptap shows where the memory of a C or C++ program goes, what still holds it, and what leaks.

Record:
  heaptap run [options] [--] PROGRAM [ARG...]   trace a program (`heaptap PROGRAM` means the same)
  heaptap attach [options] PID...               trace running processes; Ctrl-C or --duration 30s detaches
  heaptap leaks PID [--json] [options]          scan a process for leaks now; --core FILE: a core file
  heaptap mark PID NAME                         name this moment of a recording, for --from, --to, --since
  heaptap doctor [PROGRAM|PID]                  check what prevents recording, and how to fix it

Live:
  heaptap top [PID|TRACE|PROGRAM] [options]     show the memory of a process live, on the screen
  heaptap console [PID|TRACE] [-x COMMAND]      inspect and control a recording, by commands

Read:
  heaptap show VIEW TRACE [--json] [options]    read a trace; VIEW is one of summary leaks top tree stats sizes lifetimes timeline blocks fragmentation
  heaptap report [TRACE] [--open]               write a report to explore in a browser, one HTML file
  heaptap diff BEFORE AFTER [options]           compare two traces: which stacks grew, are new, are gone
  heaptap check TRACE... --max-leaked 0         fail if a trace exceeds a limit: leaks, peak, ...
  heaptap export --to FORMAT [TRACE]            write a trace in the format of another tool
  heaptap mcp [DIRECTORY] [--sources DIR]       answer an assistant's questions about traces (MCP, on stdin and stdout)

Other machines:
  heaptap connect ADDRESS|FILE                  take over what heaptap-target records by itself
)";
constexpr std::string_view kHelpAfterDiscover =
    R"(  heaptap pair [ADDRESS KEY]                    pair this machine with a target
  heaptap symbols serve DIR...                  serve symbols and unwind tables to other machines

Help:
  heaptap help [COMMAND]                        this text, or the options of a command
  heaptap --version                             print the version

The trace is heaptap.<program>.<pid>.htap in the working directory unless -o FILE says otherwise; heaptap.latest.htap links to the newest one, the default of show, report and export.
)";

constexpr std::array<std::string_view, 1> kPlanned{"serve"};

base::Result<Command> parse_help(const Arguments& arguments, const Defaults& defaults);

// Command: its name, and its option parser. It is executed by the overload of perform() for its options.
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
    NamedCommand{"pair", parse_pair},       NamedCommand{"mcp", parse_mcp},
    NamedCommand{"help", parse_help},
};

base::Result<Command> parse_named(const std::string& name, const Arguments& rest, const Defaults& defaults) {
  const auto* command = std::ranges::find(kCommands, name, &NamedCommand::name);
  if (command != kCommands.end()) return command->parse(rest, defaults);
  return base::fail_as(base::ErrorKind::kUsage,
                       "`{}` is not available in this version of heaptap; `heaptap help` lists what is. (A program "
                       "of this name is traced with `heaptap run {}`)",
                       name, name);
}

std::string overview(int file_descriptor) {
  return text::folded(fmt::format("{}{}{}", kHelp, discover_help(), kHelpAfterDiscover),
                      terminal_width(file_descriptor));
}

bool is_command(const std::string& name) {
  return std::ranges::find(kCommands, name, &NamedCommand::name) != kCommands.end() ||
         std::ranges::find(kPlanned, name) != kPlanned.end();
}

// " (did you mean show?)" for a word similar to a command. Empty: none is.
std::string suggestion(const std::string& word) {
  std::vector<std::string> names;
  for (const NamedCommand& command : kCommands) names.emplace_back(command.name);
  return base::suggestion(word, names);
}

base::Result<Command> parse_help(const Arguments& arguments, const Defaults& defaults) {
  if (arguments.empty()) return PrintText{overview(STDOUT_FILENO)};
  const std::string& name = arguments.front();
  if (name == "help" || name == "--help" || name == "-h") {
    return PrintText{"heaptap help [COMMAND]: list the commands, or the options of a command\n"};
  }
  if (!is_command(name)) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown command '{}'{}: `heaptap help` lists the commands",
                         base::safe_text(name), suggestion(name));
  }
  const bool is_of_two_words = name == "symbols" && arguments.size() == 2 && arguments.back() == "serve";
  if (arguments.size() > 1 && !is_of_two_words) {
    return base::fail_as(base::ErrorKind::kUsage, "help: unexpected argument '{}'\nusage: heaptap help [COMMAND]",
                         base::safe_text(arguments[1]));
  }
  return parse_named(name, {"--help"}, defaults);
}

// A bare `heaptap WORD` runs the program of that name. If there is none, it may be a misspelt command.
base::Result<> check_is_no_typo(const std::string& word) {
  if (word.starts_with('-') || word.contains('/') || base::is_command(word)) return {};
  const std::string meant = suggestion(word);
  if (meant.empty()) return {};
  return base::fail_as(base::ErrorKind::kUsage,
                       "unknown command '{}'{}, and no program of that name in $PATH; `heaptap help` lists the "
                       "commands",
                       base::safe_text(word), meant);
}

}  // namespace

std::vector<KnownCommand> known_commands() {
  std::vector<KnownCommand> known;
  KnownOption topics{.names = {}, .value = "COMMAND"};
  for (const NamedCommand& command : kCommands) {
    // `completions` calls this function, `help` has no table of options.
    if (command.parse == parse_completions || command.parse == parse_help) continue;
    const auto help = command.parse({"--help"}, {});
    if (!help || !std::holds_alternative<PrintText>(*help)) continue;  // this build lacks it
    topics.words.emplace_back(command.name);
    const auto& text = std::get<PrintText>(*help);
    known.push_back({std::string(command.name), text.summary, text.options});
  }
  known.push_back({"help", "Print the options of a command", {std::move(topics)}});
  return known;
}

base::Result<Command> parse_command_line(const std::vector<std::string>& arguments, const Defaults& defaults) {
  if (arguments.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "nothing to do\n\n{}", overview(STDERR_FILENO));
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") {
    return PrintText{overview(STDOUT_FILENO)};
  }
  if (first == "--version" || first == "-V") {
    return PrintText{"heaptap " HEAPTAP_VERSION "\n"};
  }
  if (first == wire::kCollectOption) return parse_collect({arguments.begin() + 1, arguments.end()}, defaults);
  if (is_command(first)) {
    return parse_named(first, {arguments.begin() + 1, arguments.end()}, defaults);
  }
  if (is_trace(first)) return parse_show(arguments, defaults);
  HEAPTAP_TRY(check_is_no_typo(first));
  return parse_run(arguments, defaults);
}

}  // namespace heaptap::app
