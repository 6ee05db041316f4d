#include "host/app/end_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "host/app/trace_name.h"
#include "host/report/render.h"

namespace heaptap::app {
namespace {

constexpr size_t kMostLines = 12;  // at the end, without -v

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
  query.lifetimes = options.json;
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

// Children may fail in crowds, on a full disk say.
void tell_failures(const RunOptions& options, const std::vector<FinishedTrace>& traces) {
  constexpr size_t kMostTold = 3;
  size_t failed = 0;
  for (const FinishedTrace& trace : traces) {
    if (trace.failure.empty()) continue;
    if (++failed <= kMostTold || options.verbose) print_error(fmt::format("heaptap: {}\n", trace.failure));
  }
  if (failed > kMostTold && !options.verbose) {
    print_error(fmt::format("heaptap: {} more traces couldn't be written (-v lists them)\n", failed - kMostTold));
  }
}

// Where the other traces are, in `room` lines.
void list_traces(const RunOptions& options, std::span<const FinishedTrace> others, size_t room) {
  if (others.size() > room && !options.verbose) {
    if (room == 0) return;
    print_error(fmt::format("heaptap: {} more processes have traces of their own (-v lists them)\n", others.size()));
    return;
  }
  for (const FinishedTrace& trace : others) {
    if (!trace.path.empty()) print_error(fmt::format("heaptap: process {} is in {}\n", trace.pid, trace.path));
  }
}

// The summary of the first, where the others are, and whether one of those that were named has what is looked for.
bool report_traces(const RunOptions& options, const analysis::Suppressions& suppressions,
                   const std::vector<FinishedTrace>& traces, const std::string& lead, size_t named) {
  bool failed = false;
  size_t lines = 0;
  const size_t looked_at = options.error_exitcode ? std::max<size_t>(named, 1) : 1;
  for (size_t i = 0; i < looked_at && i < traces.size(); ++i) {
    if (traces[i].path.empty()) continue;
    const auto summary = summary_of(options, suppressions, traces[i].path, i == 0 ? lead : "");
    if (!summary) print_error(fmt::format("heaptap: {}\n", summary.error().message));
    if (summary && i == 0 && !options.quiet) {
      print_error(summary->text);
      lines = static_cast<size_t>(std::ranges::count(summary->text, '\n'));
    }
    failed = failed || (summary && is_failure(options, *summary));
  }
  const size_t listed = options.verbose ? traces.size() : std::min(named, traces.size());
  const bool has_others = listed > 1 && !options.json && (options.verbose || !options.quiet);
  if (has_others)
    list_traces(options, std::span(traces).subspan(1, listed - 1), kMostLines - std::min(lines, kMostLines));
  return failed;
}

}  // namespace

bool report_end(const RunOptions& options, const analysis::Suppressions& suppressions,
                const std::vector<FinishedTrace>& traces, const std::string& lead, size_t named) {
  tell_failures(options, traces);
  if (traces.empty()) return false;
  if (!traces.front().path.empty()) link_latest(traces.front().path);
  if (options.quiet && !options.error_exitcode) return false;
  return report_traces(options, suppressions, traces, lead, named) && options.error_exitcode.has_value();
}

}  // namespace heaptap::app
