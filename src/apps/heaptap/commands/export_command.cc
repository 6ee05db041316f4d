#include "apps/heaptap/commands/export_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <span>

#include "analysis/findings/sampling_text.h"
#include "analysis/query/stack_index.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/new_file.h"
#include "apps/heaptap/commands/numbered_files.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "common/base/exit_status.h"
#include "views/exports/formats.h"

namespace heaptap::app {
namespace {

base::Result<query::Query> query_of(const ExportOptions& options, const exports::Format& format) {
  query::Query query = options.query;
  query.listing.blocks = format.needs.blocks;
  query.listing.errors = format.needs.errors;
  query.counting.statistics = format.needs.timeline;
  auto suppressions = query::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(std::move(suppressions).error());
  query.leaks.suppressions = *std::move(suppressions);
  return query;
}

base::Result<report::Report> read_report(model::EventSource& source, const ExportOptions& options,
                                         const exports::Format& format) {
  ProgressLine progress;
  auto query = query_of(options, format);
  if (!query) return std::unexpected(std::move(query).error());
  progress.follow(*query);
  auto report = analyze_trace(source, *query);
  if (report) report->trace_path = options.trace;
  if (report) report::choose_memory(*report, options.memory);
  return report;
}

// Compressed bytes would change a terminal's state.
base::Result<> check_terminal(const ExportOptions& options, const exports::Format& format) {
  if (!options.output.empty() || !format.extension.ends_with(".gz") || isatty(STDOUT_FILENO) == 0) return {};
  return base::fail_as(base::ErrorKind::kUsage,
                       "export: {} is compressed, which a terminal can't show: name a file, for example -o trace{}",
                       format.name, format.extension);
}

base::Result<> write_to_output(const exports::Format& format, const exports::Input& input) {
  base::Result<> printed;
  HEAPTAP_TRY(exports::write(format, input, [&printed](std::string_view piece) {
    if (printed) printed = write_output(piece);
  }));
  return printed ? flush_output() : printed;
}

base::Result<> write_to_file(const exports::Format& format, const exports::Input& input, const ExportOptions& options) {
  auto file = NewFile::create(options.output, options.force);
  if (!file) return std::unexpected(std::move(file).error());
  HEAPTAP_TRY(exports::write(format, input, [&file](std::string_view piece) { file->write(piece); }));
  HEAPTAP_TRY(file->finish());
  // Its readers take the name for the compression.
  if (format.name == "heaptrack" && !options.output.ends_with(".gz")) {
    print_error(fmt::format("heaptap: warning: '{}' is gzipped: {} read it if its name ends in .gz\n", options.output,
                            format.reader));
  }
  return {};
}

// Of a series; its parent must exist.
base::Result<> make_directory(const std::string& path) {
  std::error_code error;
  if (path.empty() || std::filesystem::is_directory(path, error)) return {};
  if (std::filesystem::create_directory(path, error) || !error) return {};
  return base::fail("can't make the directory '{}': {}", path, error.message());
}

// Prints the names of the files that the export chose.
base::Result<> write_series(const exports::Format& format, const exports::Input& input, const ExportOptions& options) {
  const auto moments = moments_of(options.moments, input.report.end_ns(), input.report.marks);
  if (!moments) return base::fail_as(moments.error().kind, "export: {}", moments.error().message);
  HEAPTAP_TRY(make_directory(options.output));
  NumberedFiles files(options.output.empty() ? "." : options.output, format.numbered_name(input.report),
                      std::string(format.extension));
  auto done = format.write_series(input, *moments, files);
  std::string names;
  for (const std::string& path : files.written()) names += path + "\n";
  HEAPTAP_TRY(print_output(names));
  return done;
}

base::Result<> write_at_path(const exports::Format& format, const exports::Input& input, const ExportOptions& options) {
  auto file = NewFile::create(options.output, options.force);
  if (!file) return std::unexpected(std::move(file).error());
  if (file->temporary().empty())
    return base::fail("{} needs a regular file, and '{}' isn't one", format.name, options.output);
  HEAPTAP_TRY(format.write_path(input, file->temporary()));
  return file->finish();
}

// Files of other tools have no place for it.
void tell_of_samples(const report::Report& report) {
  if (const std::string sampling = findings::sampling_sentence(report); !sampling.empty())
    print_error(fmt::format("heaptap: {}\n", sampling));
}

// `trace`: null for a report of several processes.
base::Result<> write_report(const exports::Format& format, const report::Report& report, model::EventSource* trace,
                            const ExportOptions& options) {
  tell_of_samples(report);
  std::optional<query::StackIndex> stacks;
  if (trace != nullptr) stacks.emplace(trace->tables());
  const exports::Input input{report, trace,
                             stacks ? std::span<const uint32_t>(stacks->ids()) : std::span<const uint32_t>(),
                             *exports::find_metric(options.metric), options.query.filter.thread};
  if (format.write_path != nullptr) return write_at_path(format, input, options);
  if (format.write_series != nullptr) return write_series(format, input, options);
  if (options.output.empty()) return write_to_output(format, input);
  return write_to_file(format, input, options);
}

// The format or option that needs a single process; null: none.
const char* need_of_one_process(const ExportOptions& options, const exports::Format& format) {
  if (format.needs.trace || format.needs.blocks || format.needs.timeline) return format.name.data();
  if (!options.moments.is_empty()) return options.moments.every_ns ? "--every" : "--at";
  return options.query.filter.thread != 0 ? "--thread" : nullptr;
}

base::Result<> export_run(const ExportOptions& options, const exports::Format& format, const Run& run) {
  if (const char* const need = need_of_one_process(options, format)) {
    return base::fail_as(
        base::ErrorKind::kUsage,
        "{} needs a single process, and '{}' is the recording of several: name one of its traces, such "
        "as '{}'",
        need, options.trace, run.entries.front().trace);
  }
  const auto query = query_of(options, format);
  if (!query) return std::unexpected(query.error());
  auto report = read_run(run, *query);
  if (!report) return std::unexpected(report.error());
  report::choose_memory(*report, options.memory);
  return write_report(format, *report, nullptr, options);
}

}  // namespace

base::Result<> export_trace(ExportOptions options) {
  const exports::Format& format = *exports::find_format(options.format);
  HEAPTAP_TRY(check_terminal(options, format));
  auto trace = named_or_newest(options.trace);
  if (!trace) return std::unexpected(std::move(trace).error());
  trace = chosen_trace(*trace, options.image);
  if (!trace) return std::unexpected(std::move(trace).error());
  options.trace = *std::move(trace);
  const auto run = open_run(options.trace);
  if (!run) return std::unexpected(run.error());
  const bool is_run = *run && !(trace::is_one_process((*run)->entries) && need_of_one_process(options, format));
  if (is_run) return export_run(options, format, **run);
  auto source = open_trace(options.trace);
  if (!source) return std::unexpected(std::move(source).error());
  const auto report = read_report(**source, options, format);
  if (!report) return std::unexpected(report.error());
  return write_report(format, *report, source->get(), options);
}

int perform(const ExportOptions& options) {
  const auto done = export_trace(options);
  if (done) return 0;
  print_error(fmt::format("heaptap: {}\n", done.error().message));
  return base::exit_status_of(done.error().kind);
}

}  // namespace heaptap::app
