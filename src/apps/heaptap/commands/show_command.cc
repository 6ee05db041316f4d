#include "apps/heaptap/commands/show_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/query/known.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/pager.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/source_editor.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "common/base/exit_status.h"
#include "common/base/safe_text.h"
#include "views/exports/finding_writers.h"
#include "views/exports/lines.h"
#include "views/exports/source_place.h"
#include "views/json/render_json.h"
#include "views/text/fold.h"
#include "views/text/render_text.h"

namespace heaptap::app {
namespace {

using report::View;

bool is_for_programs(const ShowOptions& options) {
  return options.json.has_value() || options.ndjson || options.lines || options.query.leaks.generate;
}

// Query for exactly what the view needs.
query::Query query_of(const ShowOptions& options, ProgressLine& progress) {
  query::Query query = options.query;
  const View view = options.view;
  query.listing.stacks = options.table == RunTable::kAll && query.listing.group == query::GroupBy::kNothing &&
                         (view == View::kSummary || view == View::kLeaks || view == View::kTop || view == View::kTree);
  query.listing.blocks = view == View::kBlocks;
  query.counting.statistics =
      view == View::kStats || view == View::kSizes || view == View::kLifetimes || view == View::kTimeline;
  query.counting.lifetimes = options.json.has_value();
  query.listing.errors =
      query.listing.errors && view == View::kSummary && query.listing.group == query::GroupBy::kNothing;
  query.listing.leaks_only = view == View::kLeaks;
  query.leaks.holder = view == View::kLeaks && !is_for_programs(options);
  if (view == View::kFragmentation) query.leaks.fragmentation = query::FragmentationAt::kWindow;
  // For a running program the current leaks are requested repeatedly; its calls since the start take longer each time.
  const bool filters_events = query.filter.thread != 0 || query.window.is_given();
  query.counting.events = !options.running || !query.listing.leaks_only || options.sorted || filters_events;
  if (!options.sorted && query.listing.leaks_only)
    query.listing.sort = query::SortKey::kLeakedBytes;
  else if (!options.sorted && query.listing.stacks)
    query.listing.sort.reset();
  if (!is_for_programs(options) && query.listing.limit == 0 && view != View::kTree) {
    query.listing.limit = view == View::kSummary ? 10 : 20;
  }
  // Text views sum up what libraries keep, and list others in its place.
  constexpr size_t kMaxOfLibraries = 8;
  const bool sums_up_libraries = view == View::kSummary || view == View::kTop || view == View::kFragmentation;
  if (!is_for_programs(options) && query.listing.limit != 0 && sums_up_libraries)
    query.listing.limit += kMaxOfLibraries;
  if (view == View::kTree) {
    query.listing.limit = 0;
  }
  // As many as live blocks, each with a name.
  constexpr size_t kMaxRetained = 1000;
  if (view == View::kRetained && query.listing.limit == 0) query.listing.limit = kMaxRetained;
  progress.follow(query);
  return query;
}

base::Result<report::Report> read_trace(const ShowOptions& options, const std::string& trace,
                                        const query::Query& query) {
  auto reader = open_trace(trace);
  if (!reader) {
    return std::unexpected(std::move(reader).error());
  }
  if (options.process != 0 && (*reader)->capture().pid != options.process) {
    return base::fail("--process {}: '{}' is the trace of process {} only", options.process, trace,
                      (*reader)->capture().pid);
  }
  auto report = analyze_trace(**reader, query);
  if (report) {
    report->trace_path = trace;
    if (options.running && !report->capture.ended) {
      report->capture.running = true;
      report->capture.truncated = false;
      report->capture.damage.clear();
      report->known = query::known_of(*report);
    }
  }
  return report;
}

base::Result<report::Report> read_of_run(const ShowOptions& options, const Run& run, const query::Query& query) {
  if (options.process != 0) {
    const auto trace = trace_of(run, options.process);
    if (!trace) return std::unexpected(trace.error());
    return read_trace(options, *trace, query);
  }
  const char* const need = need_of_one_process(options);
  if (need == nullptr) return read_run(run, query);
  // For a process that executed other programs, the one that did the work.
  const trace::RunEntry& main = run.entries.front();
  if (trace::is_one_process(run.entries)) return read_trace(options, main.trace, query);
  return base::fail_as(
      base::ErrorKind::kUsage,
      "{} needs a single process, and '{}' is the recording of several: --process {} is the first one, "
      "`heaptap show summary {} --by process` lists all",
      need, run.path, main.pid, run.path);
}

// Of a call tree; a document for programs has what it always had, unless asked for another.
report::Memory memory_of(const ShowOptions& options, const report::Report& report) {
  if (options.view != View::kTree) return report::Memory::kMalloc;
  return options.memory.value_or(is_for_programs(options) ? report::Memory::kMalloc : report::first_memory(report));
}

text::RenderOptions render_options(const ShowOptions& options, const report::Report& report) {
  return {.color = use_color(options.color, STDOUT_FILENO),
          .bottom_up = options.bottom_up,
          .limit = options.query.listing.limit,
          .width = options.width ? *options.width : terminal_width(STDOUT_FILENO),
          .memory = memory_of(options, report),
          .frames = options.frames};
}

void render(const ShowOptions& options, const report::Report& report, const report::Write& write) {
  if (options.query.leaks.generate) return write(report.generated_suppressions);
  if (options.lines && options.view == View::kLeaks) return exports::write_leak_lines(report, write);
  if (options.lines) return static_cast<void>(exports::write_lines(report, write));  // it can't fail
  const View view = options.query.listing.group == query::GroupBy::kTag    ? View::kTags
                    : options.query.listing.group == query::GroupBy::kPool ? View::kPools
                    : options.table == RunTable::kProcesses                ? View::kProcesses
                    : options.table == RunTable::kPrograms                 ? View::kPrograms
                                                                           : options.view;
  text::Folding folding(is_for_programs(options) || options.width ? 0 : fold_width(STDOUT_FILENO));
  const auto fold = [&](std::string_view piece) { write(folding.add(piece)); };
  if (options.json)
    json::write_json(report, view, {.bottom_up = options.bottom_up, .version = *options.json}, fold);
  else if (options.ndjson)
    json::write_ndjson(report, view, fold);
  else
    fold(text::render_text(report, view, render_options(options, report)));
  write(folding.rest());
}

base::Result<> print(const ShowOptions& options, const report::Report& report) {
  Output output(!options.no_pager && !is_for_programs(options));
  base::Result<> printed;
  render(options, report, [&](std::string_view piece) {
    if (printed) printed = output.write(piece);
  });
  return printed ? output.finish() : printed;
}

base::Result<report::Report> report_of(const ShowOptions& options, const ReportSource& source) {
  ProgressLine progress;
  query::Query query = query_of(options, progress);
  auto suppressions = query::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(std::move(suppressions).error());
  query.leaks.suppressions = *std::move(suppressions);
  auto report = source(query);
  if (report) report::choose_memory(*report, memory_of(options, *report));
  return report;
}

base::Result<> open_source(const report::Report& report, uint64_t id) {
  const auto entry =
      std::ranges::find_if(report.stacks, [id](const report::StackEntry& stack) { return id == 0 || stack.id == id; });
  if (entry == report.stacks.end())
    return base::fail("--open: {}", id == 0 ? "no stack is shown" : fmt::format("stack #{} not found", id));
  const std::string root = exports::working_directory();
  const report::FrameList frames = report.list(entry->frames);
  const auto place = exports::place_here(root, frames);
  if (!place) return base::fail("--open: no source of stack #{} is on this machine", entry->id);
  const std::string path = place->path.starts_with('/') ? place->path : root + "/" + place->path;
  print_error(fmt::format("heaptap: opening {}:{}\n", base::safe_text(place->path), place->frame->line));
  return open_in_editor({.path = path, .line = place->frame->line, .column = place->frame->column});
}

}  // namespace

// They have no common time, and blocks, threads and scans are numbered per process.
const char* need_of_one_process(const ShowOptions& options) {
  const query::Query& query = options.query;
  const View view = options.view;
  if (view != View::kSummary && view != View::kLeaks && view != View::kTop && view != View::kTree) return "this view";
  if (query.leaks.generate) return "--gen-suppressions";
  if (query.filter.thread != 0) return "--thread";
  if (query.window.is_given()) return "--from and --to";
  return query.leaks.scan != 0 ? "--scan" : nullptr;
}

base::Result<report::Report> read_recording(const ShowOptions& options, const query::Query& query) {
  if (options.image != 0) {
    const auto trace = trace_of_image(options.trace, options.process, options.image);
    if (!trace) return std::unexpected(trace.error());
    return read_trace(options, *trace, query);
  }
  const auto run = open_run(options.trace);
  if (!run) return std::unexpected(run.error());
  if (!*run && options.table != RunTable::kAll) {
    return base::fail_as(base::ErrorKind::kUsage, "--by is for recordings of several processes, and '{}' is of one",
                         options.trace);
  }
  if (!*run) return read_trace(options, options.trace, query);
  return read_of_run(options, **run, query);
}

base::Result<> show(const ShowOptions& options, const ReportSource& source) {
  const auto report = report_of(options, source);
  if (!report) return std::unexpected(report.error());
  // The text has it already.
  const bool says_it = !is_for_programs(options);
  if (report->capture.truncated && !report->capture.running && !says_it && !options.quiet) {
    print_error(fmt::format("heaptap: warning: '{}' is incomplete: {}\n", report->trace_path, report->capture.damage));
  }
  return print(options, *report);
}

base::Result<std::string> shown_text(const ShowOptions& options, const ReportSource& source) {
  const auto report = report_of(options, source);
  if (!report) return std::unexpected(report.error());
  std::string text;
  render(options, *report, [&text](std::string_view piece) { text += piece; });
  return text;
}

base::Result<> show_trace(ShowOptions options) {
  auto trace = named_or_newest(options.trace);
  if (!trace) return std::unexpected(std::move(trace).error());
  options.trace = *std::move(trace);
  if (options.open) {
    ShowOptions all = options;
    if (*options.open != 0) all.query.listing.limit = size_t{1} << 30;
    const auto report = report_of(all, [&](const query::Query& query) { return read_recording(all, query); });
    return report ? open_source(*report, *options.open) : std::unexpected(report.error());
  }
  return show(options, [&](const query::Query& query) { return read_recording(options, query); });
}

int perform(const ShowOptions& options) {
  const auto shown = show_trace(options);
  if (shown) return 0;
  print_error(fmt::format("heaptap: {}\n", shown.error().message));
  return base::exit_status_of(shown.error().kind);
}

}  // namespace heaptap::app
