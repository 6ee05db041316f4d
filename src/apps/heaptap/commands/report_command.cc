#include "apps/heaptap/commands/report_command.h"

#include <fmt/format.h>

#include <set>

#include "analysis/findings/capture_text.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "common/base/exit_status.h"
#include "views/html/html_report.h"

namespace heaptap::app {
namespace {

base::Result<query::Query> query_of(const ReportOptions& options) {
  query::Query query = options.query;
  query.listing.errors = true;
  auto suppressions = query::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(std::move(suppressions).error());
  query.leaks.suppressions = *std::move(suppressions);
  return query;
}

base::Result<report::Report> read_trace(const ReportOptions& options, query::Query query) {
  auto reader = open_trace(options.trace);
  if (!reader) return std::unexpected(std::move(reader).error());
  ProgressLine progress;
  query.counting.from_all_sides = true;
  if (!(*reader)->scans().empty()) {
    query.leaks.generate = query::SuppressionSyntax::kLsan;
    query.leaks.retained = query::RetainedBy::kStack;
    query.leaks.globals = true;
    query.leaks.fragmentation = query::FragmentationAt::kScan;
  }
  progress.follow(query);
  auto report = analyze_trace(**reader, query);
  if (report) report->trace_path = options.trace;
  return report;
}

// Times and threads exist within one process only.
base::Result<> check_run_options(const ReportOptions& options, const Run& run) {
  const query::Query& query = options.query;
  if (!query.window.is_given() && query.filter.thread == 0) return {};
  return base::fail_as(base::ErrorKind::kUsage,
                       "report: --from, --to and --thread need a single process, and '{}' is of {}: name one of its "
                       "traces, such as '{}'",
                       run.path, run.entries.size(), run.entries.front().trace);
}

base::Result<report::Report> read_all(const ReportOptions& options, const Run& run, query::Query query) {
  HEAPTAP_TRY(check_run_options(options, run));
  query.counting.activity = true;
  query.leaks.generate = query::SuppressionSyntax::kLsan;
  return read_run(run, query);
}

std::string title_of(const report::Report& report) {
  std::string main = findings::program_of(report.capture) + findings::process_of(report.capture);
  std::set<uint32_t> pids;
  for (const report::ProcessEntry& process : report.processes) pids.insert(process.capture.pid);
  if (!report.of_run || pids.size() < 2) return main;
  const size_t others = pids.size() - 1;
  return fmt::format("{} and {} more {}", main, others, others == 1 ? "process" : "processes");
}

base::Result<std::string> make_report(const ReportOptions& options) {
  const auto query = query_of(options);
  if (!query) return std::unexpected(query.error());
  const auto run = open_run(options.trace);
  if (!run) return std::unexpected(run.error());
  const auto report = *run ? read_all(options, **run, *query) : read_trace(options, *query);
  if (!report) return std::unexpected(report.error());
  return html::make_html(*report, {.title = title_of(*report),
                                   .full = options.file.full,
                                   .sources = options.sources,
                                   .sysroots = options.query.symbols.sysroots});
}

base::Result<> write_report(ReportOptions options) {
  auto trace = named_or_newest(options.trace);
  if (!trace) return std::unexpected(std::move(trace).error());
  trace = chosen_trace(*trace, options.image);
  if (!trace) return std::unexpected(std::move(trace).error());
  options.trace = *std::move(trace);
  const std::string path = options.file.output.empty() ? html_name_of(options.trace) : options.file.output;
  return write_html_file(options.file, path, [&options] { return make_report(options); });
}

}  // namespace

int perform(const ReportOptions& options) {
  const auto done = write_report(options);
  if (done) return 0;
  print_error(fmt::format("heaptap: {}\n", done.error().message));
  return base::exit_status_of(done.error().kind);
}

}  // namespace heaptap::app
