#include "host/app/end_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include "host/app/trace_name.h"
#include "host/report/render.h"

namespace heaptap::app {
namespace {

struct EndReport {
  std::string text;
  uint64_t leaks = 0;   // blocks that are lost for certain
  uint64_t errors = 0;  // bad, double and mismatched releases
};

base::Result<EndReport> summary_of(const RunOptions& options, const analysis::Suppressions& suppressions,
                                   const std::string& trace, const std::string& lead) {
  auto reader = intake::TraceReader::open(trace);
  if (!reader) return std::unexpected(std::move(reader).error());
  ProgressLine progress;
  analysis::Query query;
  query.sort = options.sort;
  query.limit = options.json ? options.count : options.count != 0 ? options.count : 10;
  query.errors = options.sanity;
  query.statistics = false;
  query.suppressions = suppressions;
  if (!options.json && !reader->scans().empty()) {
    query.leaks_only = true;
    query.sort = analysis::SortKey::kLeakedBytes;
  }
  query.symbols = {options.symbols, options.sysroots, options.debuginfod};
  query.progress = [&progress](uint64_t done, uint64_t total) { progress.update(done, total); };
  auto report = analysis::analyze(*reader, query);
  if (!report) return std::unexpected(std::move(report).error());
  report->trace_path = trace;
  const report::RenderOptions render{.color = use_color(options.color, STDERR_FILENO), .limit = options.count};
  if (!lead.empty() && !options.json) report->capture.notes.insert(report->capture.notes.begin(), lead);
  const report::Totals& totals = report->totals;
  return EndReport{options.json ? report::render_json(*report, report::View::kSummary, render)
                                : report::render_end_summary(*report, render),
                   report->leaks.scanned ? report->leaks.definite.blocks : 0,
                   totals.bad_frees + totals.double_frees + totals.mismatched_frees};
}

bool is_failure(const RunOptions& options, const EndReport& report) {
  return report.leaks > 0 || (options.sanity && report.errors > 0);
}

// The summary of the first, where the others are, and whether one of those that were named has what is looked for.
bool report_traces(const RunOptions& options, const analysis::Suppressions& suppressions,
                   const std::vector<FinishedTrace>& traces, const std::string& lead, size_t named) {
  bool failed = false;
  for (size_t i = 0; i < traces.size(); ++i) {
    const FinishedTrace& trace = traces[i];
    if (trace.path.empty()) continue;
    const bool is_named = i < std::max<size_t>(named, 1);
    if (i == 0 || (is_named && options.error_exitcode)) {
      const auto summary = summary_of(options, suppressions, trace.path, i == 0 ? lead : "");
      if (!summary) print_error(fmt::format("heaptap: {}\n", summary.error().message));
      if (summary && i == 0 && !options.quiet) print_error(summary->text);
      failed = failed || (summary && is_failure(options, *summary));
    }
    if (i > 0 && !options.json && (options.verbose || (is_named && !options.quiet))) {
      print_error(fmt::format("heaptap: process {} is in {}\n", trace.pid, trace.path));
    }
  }
  return failed;
}

}  // namespace

bool report_end(const RunOptions& options, const analysis::Suppressions& suppressions,
                const std::vector<FinishedTrace>& traces, const std::string& lead, size_t named) {
  for (const FinishedTrace& trace : traces) {
    if (!trace.failure.empty()) print_error(fmt::format("heaptap: {}\n", trace.failure));
  }
  if (traces.empty() || traces.front().path.empty()) return false;
  link_latest(traces.front().path);
  if (options.quiet && !options.error_exitcode) return false;
  return report_traces(options, suppressions, traces, lead, named) && options.error_exitcode.has_value();
}

}  // namespace heaptap::app
