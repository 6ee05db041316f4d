// Options of `heaptap leaks`.
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kLeaksUsage = "heaptap leaks {PID | --core FILE [PROGRAM]} [--json] [options]";

// A process, or the program of a core.
base::Result<> take_what(const OptionSet& set, const std::string& word, LeaksOptions& options) {
  if (options.core.empty()) {
    const auto pid = parse_pid(word, "leaks", kLeaksUsage);
    if (!pid) return std::unexpected(pid.error());
    options.process = *pid;
    return {};
  }
  for (const char* name : {"--duration", "-H"}) {
    if (!set.is_given(name)) continue;
    return base::fail_as(base::ErrorKind::kUsage, "leaks: {} is for a process, not for a core file", name);
  }
  options.program = word;
  return {};
}

}  // namespace

base::Result<Command> parse_leaks(const Arguments& arguments, const Defaults& defaults) {
  LeaksOptions options;
  std::string process;
  OptionSet set("leaks", "Scan a running process, or a core file, for leaks now", kLeaksUsage);
  set.positional("PID", process, "The process; with --core, the file of its program, if it isn't where it was");
  set.group(OptionGroup::kCapture);
  set.text("--core", options.core, "Scan this core file instead of a process").value_name("FILE");
  set.duration("--duration", options.duration_ns,
               "Of a process that isn't being recorded: attach to it for this time, then scan (default: 10s)");
  set.group(OptionGroup::kOutput);
  set.text("-o,--output", options.output, "Keep the trace of a recording that this command starts, or of a core file")
      .value_name("FILE");
  add_machine(set, options.machine, "The process runs on the machine where heaptap-target waits at ADDRESS");
  add_leak_options(set, options.show);
  set.flag("--globals", options.show.query.leaks.globals,
           "What global variables retain, by variable; then other roots");
  const auto server = add_display_options(set, options.show, false);
  set.most_used(
      {"--core", "--duration", "--json", "-n", "-d", "--sort", "--globals", "--suppressions", "--symbols", "-H"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  HEAPTAP_TRY(take_what(set, process, options));
  if (options.show.lines && options.show.query.leaks.globals)
    return base::fail_as(base::ErrorKind::kUsage, "leaks: --lines or --globals\nusage: {}", kLeaksUsage);
  server->set_token_file(options.machine.token_file);
  options.show.sorted = set.is_given("--sort");
  return options;
}

}  // namespace heaptap::app
