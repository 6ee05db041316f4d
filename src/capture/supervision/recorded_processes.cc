#include "capture/supervision/recorded_processes.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/supervision/capture_facts.h"
#include "capture/supervision/program_suppressions.h"
#include "capture/supervision/trace_half.h"
#include "capture/supervision/trace_name.h"
#include "common/arch/cpu.h"
#include "common/arch/native.h"
#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/wait_status.h"

namespace heaptap::supervision {
namespace {

std::vector<std::string> command_of(pid_t live_thread) {
  return base::split(base::read_small_file(base::process_file(live_thread, "cmdline")), '\0');
}

// A process that wrote a title over its arguments (setproctitle: "redis-server *:6379", "nginx: master process") has
// one word with blanks, and nothing after it. Split it into words, like a command.
std::vector<std::string> words_of_title(std::vector<std::string> command, const std::string& executable) {
  const auto is_empty = [](const std::string& word) { return word.empty(); };
  if (command.empty() || !std::ranges::all_of(command.begin() + 1, command.end(), is_empty)) return command;
  const std::string& title = command.front();
  if (title.find(' ') == title.npos || base::file_name_of(title) == base::file_name_of(executable)) return command;
  std::vector<std::string> words = base::words_of(title);
  if (words.empty()) return command;
  if (words.front().size() > 1 && words.front().ends_with(':')) words.front().pop_back();
  return words;
}

std::string executable_of(pid_t live_thread) { return base::read_link(base::process_file(live_thread, "exe")); }

// With an untrusted clock.
model::Note note_of(const log::ClockVerdict& clock) {
  switch (clock.doubt) {
    case log::ClockDoubt::kNotWanted:
      return {model::NoteKind::kClockNotWanted};
    case log::ClockDoubt::kNotShared:
      return {model::NoteKind::kClockNotShared};
    case log::ClockDoubt::kNotUsed:
      return {.kind = model::NoteKind::kClockNotUsed, .name = clock.source};
    default:
      return {model::NoteKind::kClockNotKnown};
  }
}

// Empty: the trace is written on another machine.
std::string trace_path_of(const RecordedProcess& process) {
  return process.trace_half == nullptr ? std::string() : process.trace_half->path();
}

}  // namespace

const std::string& program_of(const model::Capture& capture) {
  return capture.command.empty() ? capture.executable : capture.command.front();
}

model::ExitStatus exit_of(base::WaitStatus status) {
  model::ExitStatus exit;
  if (status.has_exited()) exit.code = status.exit_code();
  if (status.was_killed()) exit.signal = status.end_signal();
  return exit;
}

RecordedProcess* RecordedProcesses::begin(const RecordingStart& beginning) {
  RecordedProcess* const process = begin(describe(beginning), beginning.begins_off);
  const bool has_own_clock = options_.via == "agent" && !options_.clock.is_trusted();
  if (process != nullptr && has_own_clock) process->recording->note(note_of(options_.clock));
  return process;
}

RecordedProcess* RecordedProcesses::begin(const model::Capture& capture, bool begins_off) {
  const auto pid = static_cast<pid_t>(capture.pid);
  auto made = make_recording(capture);
  if (!made) {
    traces_.push_back({.path = "",
                       .pid = capture.pid,
                       .failure = made.error().message,
                       .parent_pid = capture.parent_pid,
                       .program = program_of(capture)});
    return nullptr;
  }
  begins_off = begin_off_.value_or(begins_off);
  if (const Inheritance before = std::exchange(inheritance_, {}); before.pid == pid) {
    if (made->trace_half != nullptr) made->trace_half->begin_behind(before.marks);
    begins_off = begins_off || !before.is_on;
  }
  if (begins_off) made->recording->begin_off();
  if (depth_ != 0 && made->trace_half != nullptr) made->trace_half->set_depth(depth_);
  const auto images = std::ranges::count(ended_, capture.pid, &EndedProcess::pid);
  processes_.push_back({.pid = pid,
                        .recording = std::move(made->recording),
                        .log_half = made->log_half,
                        .trace_half = made->trace_half,
                        // Before the process can continue: requests may come at once.
                        .control = listen_for(pid),
                        .image = 1 + static_cast<uint32_t>(images),
                        .exit = {}});
  return &processes_.back();
}

std::optional<endpoint::ProcessSocket> RecordedProcesses::listen_for(pid_t process) {
  if (!options_.machine) return std::nullopt;
  auto socket = endpoint::ProcessSocket::create({process, *options_.machine});
  if (socket) return *std::move(socket);
  const bool is_told = std::exchange(told_unreachable_, true);
  if (!is_told && options_.tell_unreachable) options_.tell_unreachable(process, socket.error().message);
  return std::nullopt;
}

base::Result<RecordingHalves> RecordedProcesses::make_recording(const model::Capture& capture) {
  constexpr int kMaxTries = 16;
  for (int tries = 1;; ++tries) {
    const std::string path = choose_path(capture);
    auto recording = maker_(options_.log, capture, path, options_.overwrite);
    const bool was_taken = !recording && options_.numbers_files && base::exists(path);  // by another one, just now
    if (!was_taken || tries == kMaxTries) return recording;
  }
}

RecordedProcess* RecordedProcesses::find(pid_t process) {
  const auto found = std::ranges::find(processes_, process, &RecordedProcess::pid);
  return found == processes_.end() ? nullptr : &*found;
}

bool RecordedProcesses::knows(pid_t process) const {
  return std::ranges::any_of(processes_, [&](const RecordedProcess& other) { return other.pid == process; }) ||
         std::ranges::any_of(traces_,
                             [&](const FinishedTrace& trace) { return trace.pid == static_cast<uint32_t>(process); });
}

void RecordedProcesses::end(pid_t process, const model::ExitStatus& exit) {
  RecordedProcess* const found = find(process);
  if (found == nullptr) return;
  const std::string planned = trace_path_of(*found);
  const auto written = found->recording->finish(exit);
  if (trace_path_of(*found).empty()) used_paths_.erase(planned);  // it was worth no file: others may have the name
  if (before_end_) before_end_(*found);
  const model::Capture& capture = found->recording->capture();
  traces_.push_back({.path = trace_path_of(*found),
                     .pid = capture.pid,
                     .failure = written ? std::string() : written.error().message,
                     .executed = capture.executed,
                     .parent_pid = capture.parent_pid,
                     .image = found->image,
                     .program = program_of(capture)});
  ended_.push_back({.pid = capture.pid,
                    .parent_pid = capture.parent_pid,
                    .image = found->image,
                    .program = program_of(capture),
                    .via = capture.via,
                    .trace = traces_.back().path,
                    .executed = capture.executed,
                    .detached = capture.detached,
                    .exit = capture.exit});
  forget(process);
}

void RecordedProcesses::end_by_exec(pid_t process) {
  RecordedProcess* const found = find(process);
  if (found == nullptr) return;
  found->recording->note_exec();
  const model::Capture capture = found->recording->capture();
  Inheritance inheritance{.pid = process, .marks = {}, .is_on = found->recording->is_on()};
  if (found->trace_half != nullptr) inheritance.marks = found->trace_half->marks();
  end(process, {});
  inheritance_ = std::move(inheritance);
  if (!options_.output.empty()) make_way_for_next(traces_.back(), capture);
}

// The requested file is that of the program that does the work, not of one that only starts it.
void RecordedProcesses::make_way_for_next(FinishedTrace& trace, const model::Capture& capture) {
  const std::string& program = program_of(capture);
  if (trace.path != trace_path(options_.output, program, capture.pid, 0)) return;
  for (unsigned nth = 1;; ++nth) {
    std::string other = trace_path(options_.output, program, capture.pid, nth);
    if (used_paths_.contains(other)) continue;
    const unsigned flags = options_.overwrite ? 0 : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, trace.path.c_str(), AT_FDCWD, other.c_str(), flags) != 0) {
      if (errno == EEXIST) continue;
      return;  // then the next one gets a number
    }
    used_paths_.erase(trace.path);
    used_paths_.insert(other);
    trace.first_path = std::exchange(trace.path, std::move(other));
    return;
  }
}

void RecordedProcesses::take_back_way(FinishedTrace& trace) {
  if (renameat2(AT_FDCWD, trace.path.c_str(), AT_FDCWD, trace.first_path.c_str(), RENAME_NOREPLACE) != 0) return;
  used_paths_.erase(trace.path);
  used_paths_.insert(trace.first_path);
  trace.path = std::exchange(trace.first_path, {});
}

void RecordedProcesses::drop(pid_t process) {
  const RecordedProcess* const dropped = find(process);
  if (dropped == nullptr) return;
  const std::string path = trace_path_of(*dropped);
  forget(process);
  if (path.empty()) return;
  unlink(path.c_str());
  used_paths_.erase(path);
  // The last one with this name: each of several programs was replaced by the next.
  const auto before = std::find_if(traces_.rbegin(), traces_.rend(),
                                   [&](const FinishedTrace& trace) { return trace.first_path == path; });
  if (before != traces_.rend()) take_back_way(*before);
}

void RecordedProcesses::forget(pid_t process) {
  std::erase_if(processes_, [&](const RecordedProcess& other) { return other.pid == process; });
}

void RecordedProcesses::set_depth(uint32_t frames) {
  depth_ = frames;
  for (const RecordedProcess& process : processes_) {
    if (process.trace_half != nullptr) process.trace_half->set_depth(frames);
  }
}

uint64_t RecordedProcesses::drain() {
  uint64_t most = 0;
  for (const RecordedProcess& process : processes_) most = std::max(most, process.recording->poll());
  return most;
}

std::vector<FinishedTrace> RecordedProcesses::take_traces(const std::vector<pid_t>& first) {
  const auto rank = [&](const FinishedTrace& trace) {
    return std::ranges::find(first, static_cast<pid_t>(trace.pid)) - first.begin();
  };
  std::vector<FinishedTrace> sorted = std::move(traces_);
  traces_.clear();
  std::erase_if(sorted, [](const FinishedTrace& trace) { return trace.path.empty() && trace.failure.empty(); });
  const auto others = std::ranges::stable_partition(
      sorted, [&](const FinishedTrace& trace) { return rank(trace) < std::ssize(first); });
  const std::span named(sorted.begin(), others.begin());
  std::ranges::reverse(named);  // so far in the order of their ends
  std::ranges::stable_sort(named, {}, rank);
  return sorted;
}

model::Capture RecordedProcesses::describe(const RecordingStart& beginning) const {
  const pid_t pid = beginning.process;
  const bool is_start = program_.is(pid) && !knows(pid) && beginning.from_start;
  const pid_t live_thread = process::find_live_thread(pid);
  model::Capture capture;
  capture.executable = is_start ? options_.executable : executable_of(live_thread);
  capture.command = is_start ? options_.command : words_of_title(command_of(live_thread), capture.executable);
  if (capture.command.empty()) capture.command = {capture.executable};
  capture.pid = static_cast<uint32_t>(pid);
  capture.parent_pid = static_cast<uint32_t>(beginning.parent);
  capture.host_name = host_name();
  capture.word_bytes = beginning.word_bytes != 0 ? beginning.word_bytes : 8;
  set_machines(capture, beginning.architecture);
  capture.via = options_.via;
  capture.from_start = beginning.from_start;
  capture.sample_interval = options_.log.sample_interval;
  capture.suppressions = options_.suppressions;
  if (auto own = program_suppressions(live_thread, capture.executable)) capture.suppressions.push_back(*std::move(own));
  return capture;
}

std::string RecordedProcesses::choose_path(const model::Capture& capture) {
  const std::string& program = program_of(capture);
  for (unsigned nth = 0;; ++nth) {
    std::string path = trace_path(options_.output, program, capture.pid, nth);
    const bool looks = (options_.output.empty() || options_.numbers_files) && !options_.overwrite;
    const bool taken = used_paths_.contains(path) || (looks && base::exists(path));
    if (!taken) return *used_paths_.insert(std::move(path)).first;
  }
}

}  // namespace heaptap::supervision
