// The options of `heaptap export`.
#include "app/command_options.h"
#include "exports/formats.h"

namespace heaptap::app {
namespace {

constexpr const char* kUsage = "heaptap export --to FORMAT [TRACE] [-o FILE] [options]";

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

std::string formats_with_metric() {
  std::string names;
  for (const exports::Format& format : exports::formats()) {
    if (format.needs.metric) names += (names.empty() ? "" : " and ") + std::string(format.name);
  }
  return names;
}

std::string format_list() {
  std::string text = "\nFormats, and what reads them:\n";
  for (const exports::Format& format : exports::formats())
    text += fmt::format("  {:<14}{}\n", format.name, format.reader);
  return text;
}

base::Result<> check_moments(const ExportOptions& options) {
  if (options.moments.is_empty()) return {};
  const char* const option = options.moments.every_ns ? "--every" : "--at";
  if (exports::find_format(options.format)->write_series == nullptr) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "export: {}: the format {} is a single file: --to memlog makes several", option,
                         options.format);
  }
  if (options.moments.every_ns && *options.moments.every_ns == 0)
    return base::fail_as(base::ErrorKind::kUsage, "export: --every needs a time above 0, such as 10s");
  return {};
}

}  // namespace

base::Result<Command> parse_export(const Arguments& arguments, const Defaults& defaults) {
  ExportOptions options;
  uint64_t every_ns = 0;
  CLI::App app("Write a trace in the format of another tool: " + std::string(kUsage), "export");
  app.add_option("TRACE", options.trace, "The trace (default: the newest one here)");
  add_choice(app, "--to", format_names(), [&options](const std::string& name) { options.format = name; }, "The format");
  add_choice(
      app, "--metric", metric_names(), [&options](const std::string& name) { options.metric = name; },
      "Of " + formats_with_metric() + ", which show one number a stack: which one (default: live)");
  app.add_option("-o,--output", options.output,
                 "Write to FILE instead of the standard output (sqlite needs it); of memlog a directory")
      ->type_name("FILE");
  app.add_flag("--force", options.force, "Replace FILE if it exists");
  add_list(app, "--at", options.moments.at, "Of memlog: a file of this time of the recording, such as 1.5s or end")
      ->type_name("TIME");
  add_duration(app, "--every", every_ns,
               "Of memlog: a file each time this much of the recording is over, and of its end");
  add_image(app, options.image);
  add_name_filters(app, options.query);
  add_ignore(app, options.query.ignores);
  add_suppressions(app, options.suppressions, options.query.carried_suppressions);
  add_symbol_sources(app, options.query.symbols);
  add_config(app);
  app.footer(format_list());
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
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
  if (app.count("--every") != 0) options.moments.every_ns = every_ns;
  HEAPTAP_TRY(check_moments(options));
  if (exports::find_format(options.format)->write_path != nullptr && options.output.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "export: --to {} needs -o FILE\nusage: {}", options.format, kUsage);
  }
  return options;
}

}  // namespace heaptap::app
