// The options of `heaptap export`.
#include "app/command_options.h"
#include "exports/formats.h"

namespace heaptap::app {
namespace {

constexpr const char* kUsage = "heaptap export --to FORMAT TRACE [-o FILE] [options]";

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const exports::Format& format : exports::formats()) names.emplace_back(format.name);
  return names;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const exports::Metric& metric : exports::metrics()) names.emplace_back(metric.name);
  return names;
}

std::string format_list() {
  std::string text = "\nFormats, and what reads them:\n";
  for (const exports::Format& format : exports::formats())
    text += fmt::format("  {:<14}{}\n", format.name, format.reader);
  return text;
}

}  // namespace

base::Result<Command> parse_export(const Arguments& arguments) {
  ExportOptions options;
  CLI::App app("Write a trace in the format of another tool: " + std::string(kUsage), "export");
  app.add_option("TRACE", options.trace, "The trace");
  add_choice(app, "--to", format_names(), [&options](const std::string& name) { options.format = name; }, "The format");
  add_choice(
      app, "--metric", metric_names(), [&options](const std::string& name) { options.metric = name; },
      "What a format shows that has one number a stack (default: live)");
  app.add_option("-o,--output", options.output, "Write to FILE instead of the standard output; of memlog a directory")
      ->type_name("FILE");
  app.add_flag("--force", options.force, "Replace FILE if it exists");
  add_name_filters(app, options.query);
  add_suppressions(app, options.suppressions, options.query.carried_suppressions);
  add_symbol_sources(app, options.query.symbols);
  app.footer(format_list());
  const auto parsed = parse_with(app, kUsage, arguments);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  const bool has_metric = app.count("--metric") != 0;
  if (options.format.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "export: no format given: --to FORMAT\nusage: {}\n{}", kUsage,
                         format_list());
  }
  if (const exports::Format& format = *exports::find_format(options.format); has_metric && !format.needs.metric) {
    return base::fail_as(base::ErrorKind::kUsage, "export: --metric: the format {} has all numbers that it can show",
                         format.name);
  }
  if (exports::find_format(options.format)->write_path != nullptr && options.output.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "export: --to {} needs -o FILE\nusage: {}", options.format, kUsage);
  }
  if (options.trace.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "export: no trace given\nusage: {}", kUsage);
  }
  return options;
}

}  // namespace heaptap::app
