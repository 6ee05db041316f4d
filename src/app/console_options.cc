// The options of `heaptap console`.
#include "app/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_console(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kUsage = "heaptap console [PID|SOCKET|TRACE] [-x COMMAND]...";
  ConsoleOptions options;
  CLI::App app("Look at a recording and steer it, by commands: " + std::string(kUsage), "console");
  app.add_option("PID|SOCKET|TRACE", options.target,
                 "A recorded process, its recording's socket, or a trace (default: what is being recorded)");
  add_list(app, "-x,--execute", options.commands,
           "Carry out COMMAND in place of those that are typed; the first that fails ends it")
      ->type_name("COMMAND");
  app.add_flag("--no-pager", options.no_pager, "Print on a terminal without a pager ($HEAPTAP_PAGER, $PAGER or less)");
  add_color(app, options.color);
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  options.defaults = defaults;
  options.defaults.warn = {};  // it was said
  return options;
}

}  // namespace heaptap::app
