#include "app/show_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/known.h"
#include "app/terminal.h"
#include "app/trace_file.h"
#include "base/exit_status.h"

namespace heaptap::app {
namespace {

using report::View;

// What the view needs, and no more.
analysis::Query query_of(const ShowOptions& options, ProgressLine& progress) {
  analysis::Query query = options.query;
  const View view = options.view;
  query.stacks = view == View::kSummary || view == View::kLeaks || view == View::kTop || view == View::kTree;
  query.blocks = view == View::kBlocks;
  query.statistics =
      view == View::kStats || view == View::kSizes || view == View::kLifetimes || view == View::kTimeline;
  query.lifetimes = options.json;
  query.errors = query.errors && view == View::kSummary;
  query.leaks_only = view == View::kLeaks;
  // Of a program that runs, what is lost now is asked for again and again; what it called since its start takes longer each time.
  const bool filters_events = query.thread != 0 || query.from_ns != 0 || query.to_ns != ~uint64_t{0};
  query.events = !options.running || !query.leaks_only || options.sorted || filters_events;
  if (query.leaks_only && !options.sorted) query.sort = analysis::SortKey::kLeakedBytes;
  if (!options.json && !query.generate && query.limit == 0 && view != View::kTree) {
    query.limit = view == View::kSummary ? 10 : 20;
  }
  if (view == View::kTree) {
    query.limit = 0;
  }
  // There are as many as live blocks, and each has a name.
  constexpr size_t kMaxRetained = 1000;
  if (view == View::kRetained && query.limit == 0) query.limit = kMaxRetained;
  query.progress = [&progress](uint64_t done, uint64_t total) { progress.update(done, total); };
  return query;
}

base::Result<report::Report> read_report(const ShowOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) {
    return std::unexpected(std::move(reader).error());
  }
  ProgressLine progress;
  analysis::Query query = query_of(options, progress);
  auto suppressions = analysis::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(std::move(suppressions).error());
  query.suppressions = *std::move(suppressions);
  auto report = analysis::analyze(*reader, query);
  if (report) {
    report->trace_path = options.trace;
    if (options.running && !report->capture.ended) {
      report->capture.running = true;
      report->capture.truncated = false;
      report->capture.damage.clear();
      report->known = analysis::known_of(*report);
    }
  }
  return report;
}

std::string text_of(const ShowOptions& options, const report::Report& report, const report::RenderOptions& render) {
  if (options.query.generate) return report.generated_suppressions;
  return report::find_renderer(options.json ? "json" : "text")->render(report, options.view, render);
}

int complain(const base::Error& error) {
  print_error(fmt::format("heaptap: {}\n", error.message));
  return base::exit_status_of(error.kind);
}

}  // namespace

int perform(const ShowOptions& options) {
  const auto report = read_report(options);
  if (!report) {
    return complain(report.error());
  }
  // The text says it itself.
  const bool says_it = !options.json && !options.query.generate;
  if (report->capture.truncated && !report->capture.running && !says_it && !options.quiet) {
    print_error(fmt::format("heaptap: warning: '{}' is cut off or damaged ({}); what stands before that is shown\n",
                            options.trace, report->capture.damage));
  }
  const report::RenderOptions render{
      .color = use_color(options.color, STDOUT_FILENO), .bottom_up = options.bottom_up, .limit = options.query.limit};
  if (const auto printed = print_output(text_of(options, *report, render)); !printed) {
    return complain(printed.error());
  }
  return 0;
}

}  // namespace heaptap::app
