#include "apps/heaptap/commands/end_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "analysis/report/process_sums.h"
#include "analysis/report/view.h"
#include "apps/heaptap/commands/gate.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/two_at_once.h"
#include "capture/supervision/trace_name.h"
#include "common/base/write_all.h"
#include "record/trace/trace_reader.h"
#include "views/json/render_json.h"
#include "views/text/fold.h"
#include "views/text/render_text.h"

namespace heaptap::app {
namespace {

// More than are printed: errors of one site are one line.
constexpr size_t kMaxStacks = 50;

using report::ProcessEntry;

// Options common to all readings of traces.
query::Query plain_query(const EndReport& end) {
  const RunOptions& options = end.options;
  query::Query query;
  query.listing.stacks = query.counting.statistics = query.counting.lifetimes = query.listing.errors = false;
  query.leaks.suppressions = end.suppressions;
  query.filter.skip = options.skip;
  query.filter.ignores = options.ignores;
  query.symbols = {options.symbols, options.sysroots, options.debuginfod, options.symbols_server};
  return query;
}

// A tracer that has detached, because the program is traced by another one, doesn't see its end.
void add_end(model::Capture& capture, const ProgramEnd& program) {
  const bool is_open = capture.ended && !capture.executed && !capture.exit.code && !capture.exit.signal;
  if (is_open && capture.pid == program.pid) capture.exit = program.exit;
}

base::Result<report::Report> read_main(const EndReport& end, const std::string& trace, bool for_json) {
  const RunOptions& options = end.options;
  auto reader = trace::TraceReader::open(trace);
  if (!reader) return std::unexpected(std::move(reader).error());
  ProgressLine progress;
  query::Query query = plain_query(end);
  progress.follow(query);
  query.listing.stacks = true;
  query.listing.sort = options.sort;
  query.listing.limit = for_json || options.count != 0 ? options.count : kMaxStacks;
  query.listing.errors = options.sanity || !for_json;
  query.listing.mapped_peak = !for_json;
  query.counting.lifetimes = for_json;
  query.listing.leaks_else_reachable = !for_json && !reader->scans().empty();
  auto report = query::analyze(*reader, query);
  if (!report) return report;
  report->trace_path = trace;
  add_end(report->capture, end.program);
  return report;
}

// Another process of the run: only its figures. Without a trace, why it has none.
ProcessEntry read_other(const EndReport& end, const supervision::FinishedTrace& trace) {
  ProcessEntry entry;
  entry.trace_path = trace.path;
  entry.capture.pid = trace.pid;
  entry.capture.parent_pid = trace.parent_pid;
  if (trace.path.empty()) {
    entry.capture.command = {trace.program};
    entry.failure = trace.failure;
    return entry;
  }
  auto reader = trace::TraceReader::open(trace.path);
  if (!reader) {
    entry.failure = reader.error().message;
    return entry;
  }
  auto report = query::analyze(*reader, plain_query(end));
  if (!report) {
    entry.capture = reader->capture();
    entry.capture.suppressions.clear();
    entry.failure = report.error().message;
    return entry;
  }
  report->trace_path = trace.path;
  report->leaks.unused_suppressions.clear();
  return report::entry_of(*report);
}

// All traces of the recording, `first` in front; empty if it is the only one.
std::vector<ProcessEntry> read_others(const EndReport& end, const report::Report& first,
                                      const std::vector<supervision::FinishedTrace>& traces) {
  std::vector<ProcessEntry> entries;
  std::vector<supervision::FinishedTrace> others;
  std::ranges::copy_if(traces, std::back_inserter(others),
                       [&](const supervision::FinishedTrace& trace) { return trace.path != first.trace_path; });
  ProgressLine progress;
  two_at_once(
      std::span<const supervision::FinishedTrace>(others),
      [&end](const supervision::FinishedTrace& trace) { return read_other(end, trace); },
      [&](const supervision::FinishedTrace& /*trace*/, ProcessEntry entry) {
        entries.push_back(std::move(entry));
        progress.update(entries.size(), others.size());
      });
  if (!entries.empty()) entries.insert(entries.begin(), report::entry_of(first));
  return entries;
}

// Many children may fail at once, for instance on a full disk.
void tell_failures(const RunOptions& options, const std::vector<supervision::FinishedTrace>& traces) {
  constexpr size_t kMaxTold = 3;
  size_t failed = 0;
  for (const supervision::FinishedTrace& trace : traces) {
    if (trace.failure.empty()) continue;
    if (++failed <= kMaxTold || options.verbose) print_error(fmt::format("heaptap: {}\n", trace.failure));
  }
  if (failed > kMaxTold && !options.verbose) {
    print_error(fmt::format("heaptap: {} more traces couldn't be written (-v lists them)\n", failed - kMaxTold));
  }
}

// The list of processes has the report's own one only if there are others.
Gate judge_report(const RunOptions& options, const std::vector<supervision::FinishedTrace>& traces,
                  const report::Report& report) {
  if (!report.processes.empty()) return judge(options, traces, report.processes);
  const ProcessEntry only = report::entry_of(report);
  return judge(options, traces, std::span(&only, 1));
}

// The failures themselves are told already.
void tell_lack_of_traces(const EndReport& end, const std::vector<supervision::FinishedTrace>& traces) {
  if (!end.options.error_exitcode) return;
  print_error(traces.empty()
                  ? "heaptap: --error-exitcode: it is unknown whether it leaks: nothing was recorded; `heaptap doctor "
                    "PROGRAM` finds the reason\n"
                  : "heaptap: --error-exitcode: it is unknown whether it leaks: a trace is missing or incomplete; use "
                    "-o FILE in a directory that has room and isn't removed during the run\n");
}

// With its stacks. Null: no such process.
std::optional<report::Report> read_again(const EndReport& end, const ProcessEntry* process) {
  if (process == nullptr) return std::nullopt;
  auto report = read_main(end, process->trace_path, false);
  return report ? std::optional(*std::move(report)) : std::nullopt;
}

void print_summary(const EndReport& end, const report::Report& report) {
  const RunOptions& options = end.options;
  const size_t width = fold_width(STDERR_FILENO);
  // Where some leak but little, that doesn't come before who held the memory.
  const ProcessEntry* const largest_entry = report::largest_of_run(report.processes);
  const ProcessEntry* const told_entry =
      largest_entry != nullptr ? largest_entry : report::leaking_of_run(report.processes);
  const ProcessEntry* const mapper_entry = report::mapper_of_run(report.processes);
  const std::optional<report::Report> told = read_again(end, told_entry);
  const bool is_one = mapper_entry == told_entry;
  const std::optional<report::Report> other = read_again(end, is_one ? nullptr : mapper_entry);
  const std::optional<report::Report>& mapper = is_one ? told : other;
  const text::RenderOptions rendering{.color = use_color(options.color, STDERR_FILENO),
                                      .limit = options.count,
                                      .all_processes = options.verbose,
                                      .width = width,
                                      .frames = options.frames};
  const std::string summary =
      text::render_end_summary(report, rendering, told ? &*told : nullptr, mapper ? &*mapper : nullptr);
  print_error(text::folded(summary, width, "heaptap: "));
}

void print_failure(const base::Error& error) { print_error(fmt::format("heaptap: {}\n", error.message)); }

void print_json(const EndReport& end, const std::string& trace, const std::vector<ProcessEntry>& processes) {
  auto report = read_main(end, trace, true);
  if (!report) return print_failure(report.error());
  report->processes = processes;
  const std::string text = json::render_json(*report, report::View::kSummary);
  if (end.options.json && !end.options.quiet) print_error(text);
  if (!end.file.is_wanted()) return;
  if (const auto written = end.file.write(text); !written) print_failure(written.error());
}

// A link is followed only if it belongs to the system, such as /dev/stdout or that of a shell's >(…).
base::UniqueFd open_to_write(const std::string& path, int flags) {
  const bool is_systems = path.starts_with("/dev/") || path.starts_with("/proc/");
  return base::UniqueFd(open(path.c_str(), O_WRONLY | O_CLOEXEC | (is_systems ? 0 : O_NOFOLLOW) | flags, 0666));
}

bool is_fifo(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// An earlier run's report must not be taken for this one's if this one fails.
void empty_if_regular(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) (void)ftruncate(descriptor, 0);
}

}  // namespace

base::Result<ReportFile> ReportFile::create(const std::string& path) {
  if (path.empty()) return ReportFile("", {});
  base::UniqueFd descriptor = open_to_write(path, O_CREAT | O_NONBLOCK);
  const bool is_unread = !descriptor && errno == ENXIO && is_fifo(path);  // no reader yet
  if (is_unread) return ReportFile(path, {});
  if (!descriptor) return base::fail("--json={}: can't write there: {}", path, base::reason_of(errno));
  (void)fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) & ~O_NONBLOCK);
  empty_if_regular(descriptor.get());
  return ReportFile(path, std::move(descriptor));
}

base::Result<> ReportFile::write(const std::string& text) {
  if (!descriptor_) descriptor_ = open_to_write(path_, 0);  // waits for a reader, after the program has ended
  if (!descriptor_) return base::fail("--json={}: can't write there: {}", path_, base::reason_of(errno));
  empty_if_regular(descriptor_.get());
  if (base::write_all(descriptor_.get(), text)) return {};
  return base::fail("--json={}: can't write it all: {}", path_, base::reason_of(errno));
}

Gate report_end(const EndReport& end, const std::vector<supervision::FinishedTrace>& traces) {
  const RunOptions& options = end.options;
  tell_failures(options, traces);
  const auto written =
      std::ranges::find_if(traces, [](const supervision::FinishedTrace& trace) { return !trace.path.empty(); });
  if (written == traces.end()) {
    tell_lack_of_traces(end, traces);
    return Gate::kUnknown;
  }
  const auto run = write_run(traces, options.force);
  if (!run) print_failure(run.error());
  supervision::link_latest(run && !run->empty() ? *run : written->path);
  const bool is_said = !options.quiet || end.file.is_wanted();
  if (!is_said && !options.error_exitcode) return Gate::kPassed;
  auto report = read_main(end, written->path, false);
  if (!report) {
    print_failure(report.error());
    tell_lack_of_traces(end, traces);
    return Gate::kUnknown;
  }
  report->processes = read_others(end, *report, traces);
  if (run) report->run_path = *run;
  const Gate gate = judge_report(options, traces, *report);
  const bool is_lacking = lacks_traces(traces);
  if (options.json || end.file.is_wanted()) print_json(end, written->path, report->processes);
  if (!options.quiet && !options.json) {
    if (!end.lead.empty()) report->capture.notes.insert(report->capture.notes.begin(), model::Note{.name = end.lead});
    if (gate == Gate::kUnknown && options.error_exitcode && !is_lacking) {
      report->capture.notes.insert(report->capture.notes.begin(),
                                   model::Note{.name = "--error-exitcode: it is unknown whether it leaks"});
    }
    print_summary(end, *report);
  }
  if (gate == Gate::kUnknown && is_lacking) tell_lack_of_traces(end, traces);
  return gate;
}

}  // namespace heaptap::app
