#include "apps/heaptap/commands/leaks_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "apps/heaptap/commands/end_signals.h"
#include "apps/heaptap/commands/interruption.h"
#include "apps/heaptap/commands/new_file.h"
#include "apps/heaptap/commands/session_recorder.h"
#include "apps/heaptap/commands/terminal.h"
#include "capture/supervision/trace_name.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/units.h"
#include "record/core_files/core_trace.h"
#include "views/client/recording.h"

namespace heaptap::app {
namespace {

int show_leaks(const LeaksOptions& options, std::string trace, uint32_t scan, bool running) {
  ShowOptions show = options.show;
  show.view = show.query.leaks.globals ? report::View::kGlobals : report::View::kLeaks;
  show.trace = std::move(trace);
  show.query.leaks.scan = scan;
  show.running = running;
  return perform(show);
}

int scan_recorded(const LeaksOptions& options, client::Recording& recording) {
  const auto pid = static_cast<uint32_t>(options.process);
  const auto control = client::control_of(recording, "leaks");
  if (!control) return complain(control.error());
  const auto scan = (*control)->scan(pid, client::ScanKind::kAll);
  if (!scan) return complain(scan.error());
  auto trace = recording.trace_file(pid);
  if (!trace) return complain(trace.error());
  return show_leaks(options, *std::move(trace), scan->number, true);
}

// Until the recording has lasted long enough, the process has ended or a signal came.
void wait_for_allocations(const LeaksOptions& options, SessionRecorder& recorder, EndSignals& signals) {
  using namespace std::chrono;
  constexpr milliseconds kBetweenLooks{50};
  const auto now = steady_clock::now();
  const nanoseconds longest = steady_clock::time_point::max() - now;
  const auto end = now + std::min(nanoseconds(std::min<uint64_t>(options.duration_ns, INT64_MAX)), longest);
  while (!recorder.has_ended()) {
    const auto left = ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0 || !signals.wait(static_cast<int>(std::min(left, kBetweenLooks).count()))) return;
  }
}

// A process that has executed other programs in that time has several traces, and an index of them.
std::string trace_to_show(const std::string& trace) {
  const std::string run = supervision::run_path(trace);
  std::error_code error;
  return std::filesystem::exists(run, error) ? run : trace;
}

struct OwnScan {
  std::string trace;
  base::UniqueFd file;                        // of a temporary trace that is removed already
  std::unique_ptr<SessionRecorder> recorder;  // owns temporary traces of several programs; else null
};

// A single temporary trace is kept open instead of its directory, which nothing would remove after a signal.
base::Result<OwnScan> result_of(std::unique_ptr<SessionRecorder> recorder, const std::string& trace, bool is_kept) {
  const std::string shown = trace_to_show(trace);
  if (is_kept || shown != trace) return OwnScan{.trace = shown, .file = {}, .recorder = std::move(recorder)};
  base::UniqueFd file(open(trace.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return base::fail("can't read the trace '{}': {}", trace, base::reason_of(errno));
  const std::string path = base::path_of(file);
  return OwnScan{.trace = path, .file = std::move(file), .recorder = nullptr};
}

// The scan is that at the end of the recording.
base::Result<OwnScan> record_and_scan(const LeaksOptions& options, EndSignals& signals) {
  const auto pid = static_cast<uint32_t>(options.process);
  auto recorder = SessionRecorder::attach_to(options.machine, pid, {.output = options.output, .scans_at_end = true});
  if (!recorder) return std::unexpected(std::move(recorder).error());
  std::string trace;
  {
    const auto recording = (*recorder)->connect([&signals] { return signals.wait(SessionRecorder::kMsBetweenTries); });
    if (!recording) return std::unexpected(recording.error());
    const auto processes = (*recording)->processes();
    if (!processes) return std::unexpected(processes.error());
    if (processes->empty()) return base::fail("the recording of process {} has no trace", pid);
    trace = (*recorder)->path_of(processes->front().trace);
    print_error(fmt::format("heaptap: process {} ({}) wasn't being recorded: attached to it for {}; Ctrl-C scans now\n",
                            pid, base::safe_text(processes->front().program),
                            base::format_duration(options.duration_ns)));
  }
  wait_for_allocations(options, **recorder, signals);
  (*recorder)->end();
  return result_of(*std::move(recorder), trace, !options.output.empty());
}

// SIGINT ends only the wait; other terminating signals are raised again after detaching.
int scan_unrecorded(const LeaksOptions& options) {
  OwnScan own;
  std::optional<base::Error> failure;
  int number = 0;
  {
    EndSignals signals;
    auto scanned = record_and_scan(options, signals);
    number = signals.number();
    if (scanned)
      own = *std::move(scanned);
    else
      failure = scanned.error();
  }
  if (failure && number == 0) {
    const auto other = recording_instead(options.machine, static_cast<uint32_t>(options.process), *failure);
    return other ? scan_recorded(options, **other) : complain(other.error());
  }
  const bool is_wanted = number == 0 || number == SIGINT;
  if (is_wanted && !own.trace.empty()) return show_leaks(options, own.trace, 0, false);
  own = {};
  return raise_again(number);
}

// Temporary, and without a name once it is open. A signal before that removes it.
base::Result<base::UniqueFd> write_unnamed_trace(core_files::CoreRequest request) {
  const std::string parent = temporary_directory();
  request.trace = parent + "/heaptap-core-XXXXXX";
  request.overwrite = true;
  base::UniqueFd file(mkostemp(request.trace.data(), O_CLOEXEC));
  if (!file) {
    return base::fail("can't make a file for the trace in '{}': {}; TMPDIR names another directory", parent,
                      base::reason_of(errno));
  }
  const size_t place = interruption::remember_file(request.trace);
  const auto written = core_files::write_core_trace(request);
  (void)unlink(request.trace.c_str());
  interruption::forget_file(place);
  if (!written) return std::unexpected(written.error());
  return file;
}

// The trace appears complete or not at all.
base::Result<> write_named_trace(const std::string& path, core_files::CoreRequest request) {
  if (base::exists(path)) return base::fail("'{}' already exists: name another file with -o", path);
  auto file = NewFile::create(path, false);
  if (!file) return std::unexpected(std::move(file).error());
  if (file->temporary().empty()) return base::fail("can't write the trace to '{}': it is not a file", path);
  request.trace = file->temporary();
  request.overwrite = true;
  HEAPTAP_TRY(core_files::write_core_trace(request));
  return file->finish();
}

int scan_core(const LeaksOptions& options) {
  interruption::clean_up_first();
  core_files::CoreRequest request{.core = options.core, .program = options.program};
  if (!options.output.empty()) {
    const auto written = write_named_trace(options.output, std::move(request));
    return written ? show_leaks(options, options.output, 0, false) : complain(written.error());
  }
  const auto file = write_unnamed_trace(std::move(request));
  if (!file) return complain(file.error());
  return show_leaks(options, base::path_of(*file), 0, false);
}

}  // namespace

int perform(const LeaksOptions& options) {
  if (!options.core.empty()) return scan_core(options);
  const auto recording = recording_of(options.machine, static_cast<uint32_t>(options.process));
  if (!recording) return complain(recording.error());
  return *recording != nullptr ? scan_recorded(options, **recording) : scan_unrecorded(options);
}

}  // namespace heaptap::app
