// The options of `heaptap report`.
#include "app/command_options.h"

namespace heaptap::app {
namespace {

constexpr const char* kUsage = "heaptap report [TRACE] [-o FILE] [--open] [options]";

}  // namespace

base::Result<Command> parse_report(const Arguments& arguments, const Defaults& defaults) {
  ReportOptions options;
  CLI::App app("Write a report to explore in a browser, one HTML file: " + std::string(kUsage), "report");
  app.add_option("TRACE", options.trace, "The trace, or the index of a recording of several processes");
  app.add_option("-o,--output", options.file.output, "The file (default: the trace's name with .html)")
      ->type_name("FILE");
  app.add_flag("--force", options.file.force, "Replace FILE if it exists");
  app.add_flag("--open", options.file.open, "Open it in a browser");
  app.add_flag("--full", options.file.full, "All stacks, however large the file becomes (default: at most 5 MB)");
  app.add_flag("--source", options.sources, "With the lines of the source files that are on this machine");
  app.add_flag("-q,--quiet", options.file.quiet, "Print nothing");
  add_image(app, options.image);
  add_name_filters(app, options.query);
  add_time_filters(app, options.query);
  add_ignore(app, options.query.ignores);
  add_suppressions(app, options.suppressions, options.query.carried_suppressions);
  add_symbol_sources(app, options.query.symbols);
  add_config(app);
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  return options;
}

}  // namespace heaptap::app
