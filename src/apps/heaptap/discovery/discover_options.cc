// Options of `heaptap discover`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

std::string_view discover_help() {
  return "  heaptap discover [--watch] [--json]           find what heaptap-target announces on the local network\n";
}

base::Result<Command> parse_discover(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kDiscoverUsage = "heaptap discover [--wait TIME] [--json] [--once|--watch]";
  DiscoverOptions options;
  uint64_t wait_ns = 0;
  OptionSet set("discover", "Find what heaptap-target announces on the local network", kDiscoverUsage);
  set.group(OptionGroup::kOutput);
  set.flag("--once", options.once, "Print what was found after the waiting time (default)");
  set.flag("--watch", options.watch, "Print a line when a service appears, changes or disappears");
  set.flag("--json", options.json, "As JSON; --watch: an object a line");
  set.group(OptionGroup::kRemote);
  const Option wait = set.duration("--wait", wait_ns, "End after this time (default: 2s; --watch: never)");
  add_config(set);
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (options.once && options.watch) {
    return base::fail_as(base::ErrorKind::kUsage, "discover: --once and --watch exclude each other\nusage: {}",
                         kDiscoverUsage);
  }
  if (wait.is_given()) options.wait_ns = wait_ns;
  return options;
}

}  // namespace heaptap::app
