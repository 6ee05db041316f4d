// The options of `heaptap doctor`.
#include "app/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_doctor(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kUsage = "heaptap doctor [PROGRAM|PID] [--json]";
  DoctorOptions options;
  CLI::App app("Check what prevents recording, and print the commands that fix it: " + std::string(kUsage), "doctor");
  app.add_option("PROGRAM|PID", options.target, "Check this program or running process, too");
  app.add_flag("--json", options.json, "As JSON");
  add_config(app);
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  return options;
}

}  // namespace heaptap::app
