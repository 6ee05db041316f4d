// Finished recordings: traces, read from the beginning for each request.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "record/trace/run_index.h"
#include "views/client/recording.h"

namespace heaptap::client {
namespace {

class PastRecording : public Recording {
 public:
  PastRecording(std::string name, std::vector<trace::RunEntry> entries, TraceOpener open, TraceAnalyzer analyze)
      : name_(std::move(name)), entries_(std::move(entries)), open_(std::move(open)), analyze_(std::move(analyze)) {}

  [[nodiscard]] bool is_live() const override { return false; }
  [[nodiscard]] std::string name() const override { return name_; }

  base::Result<std::vector<Process>> processes() override {
    std::vector<Process> processes;
    for (const trace::RunEntry& entry : entries_) {
      const auto source = open_(entry.trace);
      if (!source) return std::unexpected(source.error());
      processes.push_back(describe(entry, (*source)->capture()));
    }
    return processes;
  }

  base::Result<Figures> figures(uint32_t pid) override {
    auto source = open_trace_of(pid);
    if (!source) return std::unexpected(std::move(source).error());
    const model::Capture& capture = (*source)->capture();
    const std::vector<model::ResidentSample>& resident = (*source)->resident();
    return Figures{.pid = capture.pid,
                   .time_ns = capture.duration_ns,
                   .events = capture.event_count,
                   .lost_events = capture.lost_events,
                   .log_used_bytes = capture.log_bytes_used,
                   .log_limit_bytes = 0,
                   .trace_bytes = capture.trace_bytes,
                   .resident_bytes = resident.empty() ? std::nullopt : std::optional(resident.back().resident_bytes()),
                   .target_cpu_ns = {},
                   .collector_cpu_ns = capture.collector_cpu_ns,
                   .is_on = false,
                   .marks = static_cast<uint32_t>((*source)->marks().size()),
                   .scans = static_cast<uint32_t>((*source)->scans().size()),
                   .paused_by_tracer_ns = capture.paused_by_tracer_ns};
  }

  base::Result<Settings> settings() override {
    auto source = open_trace_of(0);
    if (!source) return std::unexpected(std::move(source).error());
    const model::Capture& capture = (*source)->capture();
    Settings settings;
    settings.heaptap_version = capture.heaptap_version;
    settings.via = capture.via;
    settings.command = capture.command;
    return settings;
  }

  base::Result<std::vector<model::Mark>> marks(uint32_t pid) override {
    auto source = open_trace_of(pid);
    if (!source) return std::unexpected(std::move(source).error());
    return (*source)->marks();
  }

  base::Result<report::Report> report(ProgramId program, const query::Query& query) override {
    const auto trace = trace_file(program);
    if (!trace) return std::unexpected(trace.error());
    auto source = open_(*trace);
    if (!source) return std::unexpected(std::move(source).error());
    auto report = analyze_(**source, query);
    if (report) report->trace_path = *trace;
    return report;
  }

  base::Result<report::Report> glance(ProgramId program, const query::Query& query) override {
    return report(program, query);
  }

  base::Result<std::string> trace_file(ProgramId program) override {
    const uint32_t pid = program.pid == 0 ? entries_.front().pid : program.pid;
    const trace::RunEntry* const last = trace::last_program_of(entries_, pid);
    if (last == nullptr) return base::fail("no process {} in '{}'", pid, name_);
    if (program.image == 0) return last->trace;
    const auto found = std::ranges::find_if(
        entries_, [&](const trace::RunEntry& entry) { return entry.pid == pid && entry.image == program.image; });
    if (found == entries_.end()) return base::fail("process {} of '{}' has no image {}", pid, name_, program.image);
    return found->trace;
  }

  [[nodiscard]] LiveControl* control() override { return nullptr; }

 private:
  base::Result<std::unique_ptr<model::EventSource>> open_trace_of(uint32_t pid) {
    const auto trace = trace_file(pid);
    if (!trace) return std::unexpected(trace.error());
    return open_(*trace);
  }

  static Process describe(const trace::RunEntry& entry, const model::Capture& capture) {
    return {.pid = entry.pid,
            .parent_pid = entry.parent_pid,
            .image = entry.image,
            .program = entry.program,
            .via = capture.via,
            .trace = entry.trace,
            .runs = false,
            .is_on = false,
            .executed = capture.executed,
            .detached = capture.detached,
            .exit = capture.exit};
  }

  std::string name_;
  std::vector<trace::RunEntry> entries_;  // at least one, the main program's first
  TraceOpener open_;
  TraceAnalyzer analyze_;
};

}  // namespace

base::Result<LiveControl*> control_of(Recording& recording, std::string_view command) {
  if (LiveControl* const control = recording.control()) return control;
  return base::fail("{}: '{}' is a finished recording; `heaptap console PID` controls a running one", command,
                    recording.name());
}

base::Result<std::unique_ptr<Recording>> open_past(const std::string& trace, TraceOpener open, TraceAnalyzer analyze) {
  std::vector<trace::RunEntry> entries;
  if (trace::is_run_index(trace)) {
    auto read = trace::read_run_index(trace);
    if (!read) return std::unexpected(std::move(read).error());
    entries = *std::move(read);
  } else {
    const auto source = open(trace);
    if (!source) return std::unexpected(source.error());
    const model::Capture& capture = (*source)->capture();
    const std::string program = capture.command.empty() ? capture.executable : capture.command.front();
    entries.push_back({.pid = capture.pid,
                       .parent_pid = capture.parent_pid,
                       .trace = trace,
                       .program = std::filesystem::path(program).filename().string()});
  }
  return std::make_unique<PastRecording>(trace, std::move(entries), std::move(open), std::move(analyze));
}

}  // namespace heaptap::client
