#include "apps/heaptap/commands/diff_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/query/window.h"
#include "analysis/report/comparison.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "common/base/exit_status.h"
#include "views/html/html_report.h"
#include "views/json/json_comparison.h"
#include "views/text/fold.h"
#include "views/text/text_comparison.h"

namespace heaptap::app {
namespace {

// All stacks with all frames, and nothing else.
query::Query comparing(query::Query query) {
  query.listing.limit = query.listing.frames.depth = 0;
  query.listing.blocks = query.listing.errors = query.counting.statistics = query.counting.lifetimes = false;
  return query;
}

base::Result<report::Report> read_report(const std::string& trace, query::Query query) {
  auto reader = open_trace(trace);
  if (!reader) return std::unexpected(std::move(reader).error());
  ProgressLine progress;
  progress.follow(query);
  auto report = analyze_trace(**reader, query);
  if (report) report->trace_path = trace;
  return report;
}

struct Moment {
  uint64_t time_ns = 0;
  report::Report report;
};

// The recording up to that moment.
base::Result<Moment> read_moment(const DiffOptions& options, query::Query query, const char* option,
                                 const std::string& text) {
  const std::string& trace = options.traces.front();
  const auto source = open_trace(trace);
  if (!source) return std::unexpected(source.error());
  const auto moment = query::moment_of(text, (*source)->marks());
  if (!moment) return base::fail_as(moment.error().kind, "diff: {}: {}", option, moment.error().message);
  query.window.span.last = {.time_ns = moment->time_ns, .event = moment->event};
  auto report = read_report(trace, query);
  if (!report) return std::unexpected(std::move(report).error());
  // The moment is printed separately.
  if (query.filter.function.empty() && query.filter.module.empty() && query.filter.tags.empty() &&
      query.filter.thread == 0)
    report->filter.clear();
  // The end of an incomplete trace is known only after it has been read.
  const uint64_t time_ns = moment->time_ns == query::kEndNs ? report->end_ns() : moment->time_ns;
  return Moment{time_ns, *std::move(report)};
}

base::Result<report::Comparison> compare_moments(const DiffOptions& options, const query::Query& query) {
  query::CompareOptions compare = options.compare;
  compare.same_trace = true;
  query::Comparer comparer(compare);
  auto from = read_moment(options, query, "--from", options.from);
  if (!from) return std::unexpected(from.error());
  comparer.add(std::move(from->report), from->time_ns);
  auto to = read_moment(options, query, "--to", options.to);
  if (!to) return std::unexpected(to.error());
  if (from->time_ns > to->time_ns) {
    return base::fail_as(base::ErrorKind::kUsage, "diff: --from {} is later than --to {}", options.from, options.to);
  }
  comparer.add(std::move(to->report), to->time_ns);
  return std::move(comparer).finish();
}

// "before.htap → after.htap"
std::string title_of(const DiffOptions& options) {
  const auto name_of = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (!options.from.empty())
    return fmt::format("{}: {} \u2192 {}", name_of(options.traces.front()), options.from, options.to);
  std::string title = name_of(options.traces.front());
  if (options.traces.size() > 2) title += fmt::format(" \u2192 {} more", options.traces.size() - 2);
  return title + " \u2192 " + name_of(options.traces.back());
}

base::Result<> write_html(const DiffOptions& options) {
  std::string path = options.file.output;
  if (path.empty()) {
    path = html_name_of(options.traces.back());
    path.insert(path.size() - std::string(".html").size(), ".diff");
  }
  return write_html_file(options.file, path, [&options]() -> base::Result<std::string> {
    const auto comparison = compare_recordings(options);
    if (!comparison) return std::unexpected(comparison.error());
    return html::make_html(*comparison, {.title = title_of(options), .full = options.file.full});
  });
}

base::Result<> print(const DiffOptions& options, const report::Comparison& comparison) {
  const text::ComparisonOptions render{.color = use_color(options.color, STDOUT_FILENO),
                                       .limit = options.limit,
                                       .depth = options.depth,
                                       .width = terminal_width(STDOUT_FILENO),
                                       .unchanged = options.compare.unchanged,
                                       .frames = options.frames};
  if (!options.json)
    return print_output(text::folded(text::render_comparison(comparison, render), fold_width(STDOUT_FILENO)));
  base::Result<> printed;
  json::write_comparison_json(comparison, *options.json, [&printed](std::string_view piece) {
    if (printed) printed = write_output(piece);
  });
  return printed ? flush_output() : printed;
}

}  // namespace

base::Result<std::vector<report::Report>> read_for_comparison(const std::vector<std::string>& traces,
                                                              const query::Query& query) {
  std::vector<report::Report> reports;
  for (const std::string& trace : traces) {
    auto report = read_report(trace, comparing(query));
    if (!report) return std::unexpected(std::move(report).error());
    reports.push_back(*std::move(report));
  }
  return reports;
}

base::Result<report::Comparison> compare_recordings(const DiffOptions& options) {
  query::Query query = comparing(options.query);
  auto suppressions = query::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(std::move(suppressions).error());
  query.leaks.suppressions = *std::move(suppressions);
  if (!options.from.empty()) return compare_moments(options, query);
  query::Comparer comparer(options.compare);
  for (const std::string& trace : options.traces) {
    auto report = read_report(trace, query);
    if (!report) return std::unexpected(std::move(report).error());
    comparer.add(*std::move(report), {});
  }
  return std::move(comparer).finish();
}

int perform(DiffOptions options) {
  for (std::string& trace : options.traces) {
    auto chosen = chosen_trace(trace, options.image);
    if (!chosen) return complain(chosen.error());
    trace = *std::move(chosen);
  }
  if (options.html) {
    const auto written = write_html(options);
    return written ? 0 : complain(written.error());
  }
  const auto comparison = compare_recordings(options);
  if (!comparison) return complain(comparison.error());
  const auto printed = print(options, *comparison);
  return printed ? 0 : complain(printed.error());
}

}  // namespace heaptap::app
