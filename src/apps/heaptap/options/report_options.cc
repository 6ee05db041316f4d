// Options of `heaptap report`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kReportUsage = "heaptap report [TRACE] [-o FILE] [--open] [options]";

}  // namespace

base::Result<Command> parse_report(const Arguments& arguments, const Defaults& defaults) {
  ReportOptions options;
  OptionSet set("report", "Write a report to explore in a browser, one HTML file", kReportUsage);
  set.positional("TRACE", options.trace, "The trace, or the index of a recording of several processes");
  set.group(OptionGroup::kOutput);
  set.text("-o,--output", options.file.output, "The file (default: the trace's name with .html)").value_name("FILE");
  set.flag("--force", options.file.force, "Replace FILE if it exists");
  set.flag("--open", options.file.open, "Open it in a browser");
  set.flag("--full", options.file.full, "All stacks, however large the file becomes (default: at most 5 MB)");
  set.flag("-q,--quiet", options.file.quiet, "Print nothing");
  add_image(set, options.image);
  set.group(OptionGroup::kReport);
  set.flag("--source", options.sources, "Include the lines of source files found on this machine");
  add_name_filters(set, options.query.filter);
  add_time_filters(set, options.query.window);
  add_ignore(set, options.query.filter.ignores);
  add_suppressions(set, options.suppressions, options.query.leaks.carried_suppressions);
  add_symbol_sources(set, options.query.symbols);
  add_config(set);
  set.most_used(
      {"-o", "--open", "--force", "--full", "--source", "--function", "--from", "--to", "--suppressions", "--symbols"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  return options;
}

}  // namespace heaptap::app
