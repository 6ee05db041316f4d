// Options of `heaptap console`.
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_console(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kConsoleUsage = "heaptap console [PID|SOCKET|TRACE] [-x COMMAND]...";
  ConsoleOptions options;
  OptionSet set("console", "Inspect and control a recording, by commands", kConsoleUsage);
  set.positional("PID|SOCKET|TRACE", options.target,
                 "A recorded process, its recording's socket, or a trace (default: what is being recorded)");
  set.group(OptionGroup::kOutput);
  set.flag("--no-pager", options.no_pager, "Print on a terminal without a pager ($HEAPTAP_PAGER, $PAGER or less)");
  add_color(set, options.color);
  add_machine(set, options.machine, "Processes are on the machine where heaptap-target waits at ADDRESS");
  set.group(OptionGroup::kReport);
  set.list("-x,--execute", options.commands,
           "Execute COMMAND instead of reading commands; the first failure ends the console")
      .value_name("COMMAND");
  set.group(OptionGroup::kSymbols);
  set.list("--symbols", options.symbols, "Search for debug information below DIR").value_name("DIR");
  set.list("--sysroot", options.sysroots, "Search for the target's files below DIR").value_name("DIR");
  add_symbols_server(
      set, [&options](std::shared_ptr<SymbolsServer> server) { options.symbols_server = std::move(server); }, false);
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (options.symbols_server != nullptr) options.symbols_server->set_token_file(options.machine.token_file);
  options.defaults = defaults;
  options.defaults.warn = {};  // it was said
  return options;
}

}  // namespace heaptap::app
