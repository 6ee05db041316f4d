// Options of `heaptap export`.
#include "apps/heaptap/options/command_options.h"
#include "views/exports/formats.h"

namespace heaptap::app {
namespace {

constexpr const char* kExportUsage = "heaptap export --to FORMAT [TRACE] [-o FILE] [options]";

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

std::string formats_with(bool exports::Needs::* need) {
  std::vector<std::string> names;
  for (const exports::Format& format : exports::formats()) {
    if (format.needs.*need) names.emplace_back(format.name);
  }
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string format_list() {
  std::string text = "Formats, and what reads them:\n";
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
  OptionSet set("export", "Write a trace in the format of another tool", kExportUsage);
  set.positional("TRACE", options.trace, "The trace (default: the newest one here)");
  set.group(OptionGroup::kOutput);
  set.choice(
         "--to", format_names(), [&options](const std::string& name) { options.format = name; },
         "The format (they are listed below)")
      .value_name("FORMAT");
  set.text("-o,--output", options.output,
           "Write to FILE instead of the standard output (sqlite needs it); memlog: a directory")
      .value_name("FILE");
  set.flag("--force", options.force, "Replace FILE if it exists");
  set.group(OptionGroup::kReport);
  set.choice(
         "--metric", metric_names(), [&options](const std::string& name) { options.metric = name; },
         formats_with(&exports::Needs::metric) + ", one number per stack: which one (default: live)")
      .value_name("METRIC");
  set.choice(
         "--memory", {"malloc", "mmap", "both"},
         [&options](const std::string& name) { options.memory = *report::memory_named(name); },
         formats_with(&exports::Needs::memory) + ": allocated memory (default), what the program mapped, or both")
      .value_name("MEMORY");
  set.list("--at", options.moments.at, "memlog: write the state at this time of the recording, such as 1.5s or end")
      .value_name("TIME");
  set.duration("--every", every_ns, "memlog: write a file per interval, and one at the end");
  add_image(set, options.image);
  add_name_filters(set, options.query.filter);
  add_ignore(set, options.query.filter.ignores);
  add_suppressions(set, options.suppressions, options.query.leaks.carried_suppressions);
  add_symbol_sources(set, options.query.symbols);
  add_config(set);
  set.footer(format_list());
  set.most_used({"--to", "-o", "--force", "--metric", "--function", "--suppressions", "--symbols"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  const bool has_metric = set.is_given("--metric");
  if (options.format.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "export: no format given: --to FORMAT\nusage: {}\n\n{}", kExportUsage,
                         format_list());
  }
  if (const exports::Format& format = *exports::find_format(options.format); has_metric && !format.needs.metric) {
    return base::fail_as(base::ErrorKind::kUsage, "export: --metric: the format {} always has all its numbers",
                         format.name);
  }
  if (options.memory != report::Memory::kMalloc && !exports::find_format(options.format)->needs.memory) {
    return base::fail_as(base::ErrorKind::kUsage, "export: --memory is for {}", formats_with(&exports::Needs::memory));
  }
  if (set.is_given("--every")) options.moments.every_ns = every_ns;
  HEAPTAP_TRY(check_moments(options));
  if (exports::find_format(options.format)->write_path != nullptr && options.output.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "export: --to {} needs -o FILE\nusage: {}", options.format,
                         kExportUsage);
  }
  return options;
}

}  // namespace heaptap::app
