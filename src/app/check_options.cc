// The options of `heaptap check`.
#include "app/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kUsage =
    "heaptap check TRACE... [--max-leaked SIZE] [--max-peak SIZE] [--max-live SIZE] [--max-allocations N] [options]";

void add_limits(CLI::App& app, CheckOptions& options) {
  add_limit(app, "--max-leaked", options.leaked_bytes, "The most bytes that may be lost, definitely or below that")
      ->type_name("SIZE");
  add_limit(app, "--max-peak", options.peak_bytes, "The most bytes that may be live at one time")->type_name("SIZE");
  add_limit(app, "--max-live", options.live_bytes, "The most bytes that may be live at the end")->type_name("SIZE");
  add_number(app, "--max-allocations", options.allocations, "The most allocations", 0, ~uint64_t{0});
  app.add_flag("--allow-incomplete", options.allow_incomplete,
               "Judge by what is known where events were lost, the trace is cut off or has no leak scan; otherwise the "
               "exit status is 3 then");
  app.add_flag("--possible", options.possible, "Bytes that are possibly lost count as leaked, too");
}

void add_rest(CLI::App& app, CheckOptions& options) {
  add_suppressions(app, options.suppressions, options.carried_suppressions);
  add_number(app, "--scan", options.scan, "Leaks as the scan with this number saw them (default: the last one)", 1);
  add_root_kinds(app, options.leaks.roots);
  add_number(app, "-n,--count", options.stacks, "Show at most N stacks of a limit that was broken (default: 3)");
  add_list(app, "--symbols", options.symbols.symbol_directories, "Look for debug information below DIR")
      ->type_name("DIR");
  add_list(app, "--sysroot", options.symbols.sysroots, "Look for the target's files below DIR")->type_name("DIR");
  app.add_flag("--debuginfod", options.symbols.debuginfod, "Ask the servers of $DEBUGINFOD_URLS");
  app.add_flag("--json", options.json, "As JSON");
  app.add_flag("-q,--quiet", options.quiet, "Print nothing; the exit status says it");
  add_color(app, options.color);
  app.set_config("--config", "", "Read options from an INI or TOML file", false);
}

}  // namespace

base::Result<Command> parse_check(const Arguments& arguments) {
  CheckOptions options;
  CLI::App app("Fail if a trace is beyond a limit: " + std::string(kUsage), "check");
  std::vector<std::string> words;
  app.add_option("TRACE", words, "The files, or folders of them; each is judged by itself");
  add_limits(app, options);
  add_rest(app, options);
  const auto parsed = parse_with(app, kUsage, arguments);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (words.empty()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "check: no trace given (the newest is heaptap.latest.htap)\nusage: {}", kUsage);
  }
  if (!options.leaked_bytes && !options.peak_bytes && !options.live_bytes && !options.allocations) {
    return base::fail_as(base::ErrorKind::kUsage, "check: no limit given, for example --max-leaked 0\nusage: {}",
                         kUsage);
  }
  options.traces = std::move(words);
  return options;
}

}  // namespace heaptap::app
