// The options of `heaptap check`.
#include "app/command_options.h"
#include "app/growth_limits.h"

namespace heaptap::app {
namespace {

constexpr const char* kUsage =
    "heaptap check TRACE... [--max-leaked SIZE] [--max-peak SIZE] [--max-live SIZE] [--max-allocations N] "
    "[--baseline OLD --max-growth LIMIT] [options]";

void add_growth(CLI::App& app, std::vector<report::GrowthLimit>& growth) {
  app.add_option_function<std::vector<std::string>>(
         "--max-growth",
         [&growth](const std::vector<std::string>& words) {
           for (const std::string& word : words) {
             const auto limits = parse_growth(word);
             if (!limits) throw CLI::ValidationError("--max-growth", limits.error().message);
             growth.insert(growth.end(), limits->begin(), limits->end());
           }
         },
         "The most that leaked, peak and live bytes may grow by: 5%, 64K; of one figure leaked=0, peak=5%, live=, "
         "allocations=; of no single stack more: stack-leaked=, stack-peak=, stack-live=, stack-allocations=")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("LIMIT");
}

void add_limits(CLI::App& app, CheckOptions& options) {
  add_limit(app, "--max-leaked", options.leaked_bytes,
            "Maximum leaked bytes (definitely + indirectly lost, in pools as well)")
      ->type_name("SIZE");
  add_limit(app, "--max-peak", options.peak_bytes, "Maximum bytes live at one time (peak)")->type_name("SIZE");
  add_limit(app, "--max-live", options.live_bytes, "Maximum bytes live at the end")->type_name("SIZE");
  add_number(app, "--max-allocations", options.allocations, "Maximum number of allocations", 0, ~uint64_t{0});
  app.add_option("--baseline", options.baseline,
                 "An earlier trace: --max-growth is the growth over it; or a directory with one for each program")
      ->type_name("TRACE");
  add_growth(app, options.growth);
  app.add_flag("--allow-incomplete", options.allow_incomplete,
               "Judge incomplete traces (events lost, trace cut off, no leak scan) by what is known; without this "
               "option the exit status is 3 for them");
  app.add_flag("--possible", options.possible, "Count possibly lost bytes as leaked, too");
}

void add_rest(CLI::App& app, CheckOptions& options) {
  add_ignore(app, options.ignores);
  add_suppressions(app, options.suppressions, options.carried_suppressions);
  add_number(app, "--scan", options.scan, "Leaks of the scan with this number (default: the last one)", 1);
  add_image(app, options.image);
  add_root_kinds(app, options.leaks.roots);
  add_number(app, "-n,--count", options.stacks, "Show at most N stacks of a limit that is exceeded (default: 3)");
  add_list(app, "--symbols", options.symbols.symbol_directories, "Search for debug information below DIR")
      ->type_name("DIR");
  add_list(app, "--sysroot", options.symbols.sysroots, "Search for the target's files below DIR")->type_name("DIR");
  app.add_flag("--debuginfod", options.symbols.debuginfod, "Ask the servers of $DEBUGINFOD_URLS");
  add_symbols_server(app,
                     [&options](std::shared_ptr<SymbolsServer> server) { options.symbols.server = std::move(server); });
  app.add_flag("--json", options.json, "As JSON");
  app.add_flag("-q,--quiet", options.quiet, "Print nothing; only set the exit status");
  add_color(app, options.color);
  add_skip(app, options.skip);
  add_frame_options(app, options.frames);
  add_config(app);
}

}  // namespace

base::Result<Command> parse_check(const Arguments& arguments, const Defaults& defaults) {
  CheckOptions options;
  CLI::App app("Fail if a trace exceeds a limit: " + std::string(kUsage), "check");
  std::vector<std::string> words;
  app.add_option("TRACE", words, "Traces, or directories of traces; each is checked separately");
  add_limits(app, options);
  add_rest(app, options);
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (words.empty()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "check: no trace given (the newest is heaptap.latest.htap)\nusage: {}", kUsage);
  }
  if (options.baseline.empty() != options.growth.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "check: --baseline and --max-growth belong together\nusage: {}",
                         kUsage);
  }
  if (options.possible && !options.growth.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "check: --possible is for --max-leaked alone\nusage: {}", kUsage);
  }
  if (!options.leaked_bytes && !options.peak_bytes && !options.live_bytes && !options.allocations &&
      options.growth.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "check: no limit given, for example --max-leaked 0\nusage: {}",
                         kUsage);
  }
  options.traces = std::move(words);
  return options;
}

}  // namespace heaptap::app
