// Options of `heaptap mark`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kMarkUsage = "heaptap mark PID NAME";

}  // namespace

base::Result<Command> parse_mark(const Arguments& arguments, const Defaults& defaults) {
  MarkOptions options;
  std::string process;
  OptionSet set("mark", "Name this moment of a recording, for --from, --to and --since", kMarkUsage);
  set.positional("PID", process, "The recorded process");
  add_recorded_host(set, options.host);
  add_unused_security(set);
  set.positional("NAME", options.name, "The mark's name; need not be unique");
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  const auto pid = parse_pid(process, "mark", kMarkUsage);
  if (!pid) return std::unexpected(pid.error());
  options.process = *pid;
  if (options.name.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "mark: no name given\nusage: {}", kMarkUsage);
  }
  return options;
}

}  // namespace heaptap::app
