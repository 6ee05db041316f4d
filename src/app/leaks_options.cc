// The options of `heaptap leaks`.
#include "app/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kUsage = "heaptap leaks PID [--json] [options]";

}  // namespace

base::Result<Command> parse_leaks(const Arguments& arguments, const Defaults& defaults) {
  LeaksOptions options;
  std::string process;
  CLI::App app("Scan a process for leaks now, while it is being recorded: " + std::string(kUsage), "leaks");
  app.add_option("PID", process, "The recorded process");
  add_recorded_host(app, options.host);
  add_leak_options(app, options.show);
  add_display_options(app, options.show);
  app.get_option("--token-file")
      ->description(
          "What this machine and --symbols-server's know (default: $HEAPTAP_TOKEN); -H needs none, since the "
          "recording has the connection");
  app.get_option("--insecure")
      ->description("--symbols-server: beyond loopback without a token and encryption; -H needs none");
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  const auto pid = parse_pid(process, "leaks", kUsage);
  if (!pid) return std::unexpected(pid.error());
  options.process = *pid;
  options.show.sorted = app.count("--sort") > 0;
  return options;
}

}  // namespace heaptap::app
