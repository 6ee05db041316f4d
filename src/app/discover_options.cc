// The options of `heaptap discover`.
#include "app/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_discover(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kUsage = "heaptap discover [--wait TIME] [--json] [--once|--watch]";
  DiscoverOptions options;
  uint64_t wait_ns = 0;
  CLI::App app("Find what heaptap-target announces on the local network: " + std::string(kUsage), "discover");
  const auto* const wait =
      add_duration(app, "--wait", wait_ns, "End after this time (default 2s; --watch: never)")->type_name("TIME");
  app.add_flag("--once", options.once, "Print what was found when the time is over (default)");
  app.add_flag("--watch", options.watch, "Print a line for each that comes, changes or goes");
  app.add_flag("--json", options.json, "As JSON; --watch: an object a line");
  add_config(app);
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (options.once && options.watch) {
    return base::fail_as(base::ErrorKind::kUsage, "discover: --once or --watch\nusage: {}", kUsage);
  }
  if (wait->count() > 0) options.wait_ns = wait_ns;
  return options;
}

}  // namespace heaptap::app
