// Options of `heaptap doctor`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_doctor(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kDoctorUsage = "heaptap doctor [PROGRAM|PID] [--json]";
  DoctorOptions options;
  OptionSet set("doctor", "Check what prevents recording, and print the commands that fix it", kDoctorUsage);
  set.positional("PROGRAM|PID", options.target, "Check this program or running process, too");
  set.group(OptionGroup::kOutput);
  set.flag("--json", options.json, "As JSON");
  add_config(set);
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  return options;
}

}  // namespace heaptap::app
