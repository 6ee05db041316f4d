// Options of `heaptap leaks`.
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kLeaksUsage = "heaptap leaks PID [--json] [options]";

}  // namespace

base::Result<Command> parse_leaks(const Arguments& arguments, const Defaults& defaults) {
  LeaksOptions options;
  std::string process;
  OptionSet set("leaks", "Scan a running process for leaks now", kLeaksUsage);
  set.positional("PID", process, "The process");
  set.group(OptionGroup::kCapture);
  set.duration("--duration", options.duration_ns,
               "Of a process that isn't being recorded: attach to it for this time, then scan (default: 10s)");
  set.group(OptionGroup::kOutput);
  set.text("-o,--output", options.output, "Keep the trace of a recording that this command starts").value_name("FILE");
  add_machine(set, options.machine, "The process runs on the machine where heaptap-target waits at ADDRESS");
  add_leak_options(set, options.show);
  set.flag("--globals", options.show.query.leaks.globals,
           "What global variables retain, by variable; then other roots");
  const auto server = add_display_options(set, options.show, false);
  set.most_used(
      {"--duration", "--json", "-n", "-d", "--sort", "--globals", "--suppressions", "--symbols", "--no-roots", "-H"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  const auto pid = parse_pid(process, "leaks", kLeaksUsage);
  if (!pid) return std::unexpected(pid.error());
  options.process = *pid;
  server->set_token_file(options.machine.token_file);
  options.show.sorted = set.is_given("--sort");
  return options;
}

}  // namespace heaptap::app
