// Options of `heaptap check`.
#include "apps/heaptap/options/command_options.h"
#include "apps/heaptap/options/growth_limits.h"

namespace heaptap::app {
namespace {

constexpr const char* kCheckUsage =
    "heaptap check TRACE... [--max-leaked SIZE] [--max-peak SIZE] [--max-live SIZE] [--max-allocations N] "
    "[--baseline OLD --max-growth LIMIT] [options]";

void add_growth(OptionSet& set, std::vector<report::GrowthLimit>& growth) {
  const auto parse = [&growth](const std::string& word) -> base::Result<> {
    const auto limits = parse_growth(word);
    if (!limits) return std::unexpected(limits.error());
    growth.insert(growth.end(), limits->begin(), limits->end());
    return {};
  };
  set.parsed_list("--max-growth", parse,
                  "Maximum growth of leaked, peak and live bytes: 5%, 64K; of one figure: leaked=0, peak=5%, live=, "
                  "allocations=; of any single stack: stack-leaked=, stack-peak=, stack-live=, stack-allocations=")
      .separated_by(',')
      .value_name("LIMIT");
}

void add_limits(OptionSet& set, CheckOptions& options) {
  set.group(OptionGroup::kReport);
  set.size("--max-leaked", options.leaked_bytes,
           "Maximum leaked bytes (definitely + indirectly lost, in pools as well)");
  set.size("--max-peak", options.peak_bytes, "Maximum bytes live at one time (peak)");
  set.size("--max-live", options.live_bytes, "Maximum bytes live at the end");
  set.number("--max-allocations", options.allocations, "Maximum number of allocations", 0, ~uint64_t{0});
  set.text("--baseline", options.baseline,
           "An earlier trace: --max-growth is the growth over it; or a directory with one for each program")
      .value_name("TRACE");
  add_growth(set, options.growth);
  set.flag("--allow-incomplete", options.allow_incomplete,
           "Judge incomplete traces (events lost, trace cut off, no leak scan) by what is known; without this "
           "option the exit status is 3 for them");
  set.flag("--possible", options.possible, "Count possibly lost bytes as leaked, too");
}

void add_rest(OptionSet& set, CheckOptions& options) {
  set.group(OptionGroup::kOutput);
  add_json(set, options.json);
  set.flag("--lines", options.lines, "A line for each finding, as a compiler's errors: FILE:LINE:COLUMN: error: ...");
  set.flag("-q,--quiet", options.quiet, "Print nothing; only set the exit status");
  add_color(set, options.color);
  add_ignore(set, options.ignores);
  add_suppressions(set, options.suppressions, options.carried_suppressions);
  set.number("--scan", options.scan, "Leaks of the scan with this number (default: the last one)", 1);
  add_root_kinds(set, options.leaks.roots);
  add_tagged_pointers(set, options.leaks.heuristics);
  set.number("-n,--count", options.stacks, "Show at most N stacks of a limit that is exceeded (default: 3)");
  add_image(set, options.image);
  add_symbol_sources(set, options.symbols);
  add_skip(set, options.skip);
  add_frame_options(set, options.frames);
  add_config(set);
}

}  // namespace

base::Result<Command> parse_check(const Arguments& arguments, const Defaults& defaults) {
  CheckOptions options;
  OptionSet set("check", "Fail if a trace exceeds a limit", kCheckUsage);
  std::vector<std::string> words;
  set.positional("TRACE", words, "Traces, or directories of traces; each is checked separately");
  add_limits(set, options);
  add_rest(set, options);
  set.most_used({"--max-leaked", "--max-peak", "--max-live", "--baseline", "--max-growth", "--suppressions",
                 "--allow-incomplete", "--json", "-q"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (words.empty()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "check: no trace given (the newest is heaptap.latest.htap)\nusage: {}", kCheckUsage);
  }
  if (options.lines && options.json) {
    return base::fail_as(base::ErrorKind::kUsage, "check: --lines or --json\nusage: {}", kCheckUsage);
  }
  if (options.baseline.empty() != options.growth.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "check: --baseline and --max-growth belong together\nusage: {}",
                         kCheckUsage);
  }
  if (options.possible && !options.growth.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "check: --possible needs --max-leaked\nusage: {}", kCheckUsage);
  }
  if (!options.leaked_bytes && !options.peak_bytes && !options.live_bytes && !options.allocations &&
      options.growth.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "check: no limit given, for example --max-leaked 0\nusage: {}",
                         kCheckUsage);
  }
  options.traces = std::move(words);
  return options;
}

}  // namespace heaptap::app
