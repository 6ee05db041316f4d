// Options of `heaptap leaks`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kLeaksUsage = "heaptap leaks PID [--json] [options]";

}  // namespace

base::Result<Command> parse_leaks(const Arguments& arguments, const Defaults& defaults) {
  LeaksOptions options;
  std::string process;
  OptionSet set("leaks", "Scan a process for leaks now, while it is being recorded", kLeaksUsage);
  set.positional("PID", process, "The recorded process");
  add_recorded_host(set, options.host);
  add_leak_options(set, options.show);
  set.flag("--globals", options.show.query.leaks.globals,
           "What global variables retain, by variable; then other roots");
  add_display_options(set, options.show);
  set.find("--token-file")
      ->help(
          "Secret shared with --symbols-server's machine (default: $HEAPTAP_TOKEN); not needed for -H: the recording "
          "has the connection");
  set.most_used({"--json", "-n", "-d", "--sort", "--globals", "--suppressions", "--symbols", "--no-roots", "-H"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  const auto pid = parse_pid(process, "leaks", kLeaksUsage);
  if (!pid) return std::unexpected(pid.error());
  options.process = *pid;
  options.show.sorted = set.is_given("--sort");
  return options;
}

}  // namespace heaptap::app
