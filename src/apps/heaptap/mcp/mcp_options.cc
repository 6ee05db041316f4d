// Options of `heaptap mcp`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_mcp(const Arguments& arguments, const Defaults& defaults) {
  McpOptions options;
  std::string directory;
  OptionSet set("mcp", "Answer an assistant's questions about recordings (Model Context Protocol)",
                "heaptap mcp [DIRECTORY] [--sources DIR]");
  set.positional("DIRECTORY", directory,
                 "Recordings below it are served, and no others (default: the working directory)");
  set.group(OptionGroup::kReport);
  set.list("--sources", options.sources, "Also give lines of source files below DIR (default: below DIRECTORY)")
      .value_name("DIR");
  // What an assistant asks makes no server be asked that its user didn't name.
  add_symbol_sources(set, options.symbols, {.asks_debuginfod = false});
  add_config(set);
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (!directory.empty()) options.directory = directory;
  return options;
}

}  // namespace heaptap::app
