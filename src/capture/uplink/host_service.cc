#include "capture/uplink/host_service.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <utility>

#include "common/base/signal_names.h"
#include "common/control/control_messages.h"
#include "common/line/line_messages.h"
#include "common/message/common_messages.h"

namespace heaptap::uplink {

namespace {

constexpr size_t kMaxUnheard = 1000;
constexpr std::ptrdiff_t kMaxUnheardScans = 2;  // the largest kind of answer
constexpr size_t kMaxMarkNameBytes = 256;

base::Result<> check_mark(uint64_t kind, const std::string& name) {
  const bool is_mark = kind <= static_cast<uint64_t>(model::MarkKind::kReset) && !name.empty();
  if (is_mark && name.size() <= kMaxMarkNameBytes) return {};
  return base::fail_as(base::ErrorKind::kUsage, "a mark's name has 1 to {} bytes", kMaxMarkNameBytes);
}

base::Result<> send_signal(pid_t process, int signal) {
  if (::kill(process, signal) == 0) return {};
  return base::fail("can't send it to process {}: {}", process, base::reason_of(errno));
}

}  // namespace

void answer(line::ReliableLine& line, uint64_t number, const base::Result<>& result) {
  line.send(result ? message::answer_to(number, {}) : message::refusal_of(number, result.error()));
}

void HostService::serve() {
  const line::TimePoint now = std::chrono::steady_clock::now();
  host_.proceed(now);
  if (host_.take_new_host()) {
    unheard_.clear();
    for (const supervision::RecordedProcess& process : processes_.all()) recordings_.at(*process.recording).restart();
  }
  while (auto request = host_.next()) {
    if (is_deaf()) {
      host_.give_up();
      wants_end_ = true;
    }
    if (!host_.is_given_up()) answer(*request);
  }
  look_for_reports();
  console_.serve();
  const bool is_alone_for_good =
      host_.alone_since() && (host_.is_cut_off() || now - *host_.alone_since() > orphan_timeout_);
  if (is_alone_for_good) {
    host_.give_up();
    wants_end_ = true;
  }
}

// Counts the signals in the log, as capture/supervision/report_requests.h does on one machine; the host writes the
// reports.
void HostService::look_for_reports() {
  if (processes_.options().log.report_signal == 0 || host_.is_given_up()) return;
  for (supervision::RecordedProcess& process : processes_.all()) {
    const uint32_t counted = process.log_half->log().header().report_requests.load(std::memory_order_relaxed);
    if (std::exchange(process.report_requests_seen, counted) == counted) continue;
    host_.send(line::message_of(
        line::ReportWanted{.pid = static_cast<uint64_t>(process.pid), .reason = line::kReportBySignal}));
  }
}

bool HostService::is_deaf() {
  const uint64_t confirmed = host_.link().line().confirmed();
  while (!unheard_.empty() && unheard_.front().sent <= confirmed) unheard_.pop_front();
  return unheard_.size() >= kMaxUnheard;
}

void HostService::answer(const message::Message& request) {
  line::ReliableLine& line = host_.link().line();
  const uint64_t before = line.sent();
  const base::Result<> result = perform(request);
  if (request.number != 0) uplink::answer(line, request.number, result);
  if (line.sent() > before) unheard_.push_back({line.sent(), request.kind == control::Kind::kScan});
}

base::Result<> HostService::perform(const message::Message& request) {
  switch (request.kind.as<line::Kind>()) {
    case line::Kind::kRows:
      host_.rows().take(request.fields);
      return {};
    case line::Kind::kFunctions:  // too late: that program has started
      host_.functions().take(request.fields);
      return {};
    case line::Kind::kFarewell:
      host_.say_farewell();
      wants_end_ = true;
      return {};
    case line::Kind::kDetach:
      wants_end_ = true;
      return {};
    default:
      return perform_passed_on(request);
  }
}

// Requests of the control protocol.
base::Result<> HostService::perform_passed_on(const message::Message& request) {
  const message::Fields& fields = request.fields;
  const std::optional<uint64_t> pid = control::decode_process_request(fields).pid;
  switch (request.kind.as<control::Kind>()) {
    case control::Kind::kStart:
    case control::Kind::kStop: {
      const bool on = request.kind == control::Kind::kStart;
      if (!pid) processes_.begin_switched_off(!on);
      return for_each(pid, [on](supervision::RecordedProcess& process) { return process.recording->set_on(on); });
    }
    case control::Kind::kMark:
      return mark(control::decode_mark_request(fields));
    case control::Kind::kSnapshot:
      return for_each(pid, [](supervision::RecordedProcess& process) { return process.recording->write_up_to_now(); });
    case control::Kind::kScan:
      if (std::ranges::count(unheard_, true, &Unheard::is_scan) >= kMaxUnheardScans) {
        return base::fail("no leak scan: earlier scans are still waiting for the host");
      }
      return for_each(pid, [this](supervision::RecordedProcess& process) -> base::Result<> {
        const auto scanned = source_.scan(process);
        if (!scanned) return std::unexpected(scanned.error());
        return await_scan(recordings_.at(*process.recording));
      });
    case control::Kind::kDetach:
      return for_each(pid, [this](supervision::RecordedProcess& process) -> base::Result<> {
        process.recording->note_detached();
        source_.detach(process);
        return {};
      });
    case control::Kind::kKill:
      return kill(control::decode_kill_request(fields));
    default:
      return base::fail("heaptap-target doesn't support requests of kind {}", request.kind.value);
  }
}

base::Result<> HostService::mark(const control::MarkRequest& request) {
  const uint64_t kind = request.kind.value_or(0);
  HEAPTAP_TRY(check_mark(kind, request.name));
  return for_each(request.pid, [&](supervision::RecordedProcess& process) -> base::Result<> {
    const auto mark = process.recording->mark(static_cast<model::MarkKind>(kind), request.name);
    if (!mark) return std::unexpected(mark.error());
    return {};
  });
}

base::Result<> HostService::kill(const control::KillRequest& request) {
  const auto signal = base::signal_number(request.signal);
  if (!signal) return base::fail_as(base::ErrorKind::kUsage, "unknown signal");
  if (!may_kill_) return base::fail("this target doesn't let hosts send signals (serve --attach-only)");
  if (request.pid == 0) return signal_program(*signal);
  return for_each(request.pid,
                  [&signal](supervision::RecordedProcess& process) { return send_signal(process.pid, *signal); });
}

// The client reads the scan's result after the answer, so the result has to be sent first.
base::Result<> HostService::await_scan(ForwardedRecording& recording) {
  const auto is_told = [&recording] {
    if (!recording.has_told_scan()) (void)recording.poll();
    return recording.has_told_scan();
  };
  if (host_.wait_until(is_told)) return {};
  return base::fail("the leak scan was made, and arrives after the events recorded before it: the connection is slow");
}

// Delivers a signal as a terminal would: to the recorded processes of the program's process group.
base::Result<> HostService::signal_program(int signal) {
  const supervision::StartedProgram& program = processes_.program();
  if (!program.runs()) return base::fail("no program started by the host is running there");
  const bool is_typed = signal == SIGINT || signal == SIGQUIT;
  const pid_t group = is_typed ? getpgid(program.process) : -1;
  for (const supervision::RecordedProcess& process : processes_.all()) {
    if (group > 0 && process.pid != program.process && getpgid(process.pid) == group) {
      (void)send_signal(process.pid, signal);
    }
  }
  return send_signal(program.process, signal);
}

base::Result<> HostService::for_each(std::optional<uint64_t> pid,
                                     const std::function<base::Result<>(supervision::RecordedProcess&)>& act) {
  if (!pid) {
    for (supervision::RecordedProcess& process : processes_.all()) HEAPTAP_TRY(act(process));
    return {};
  }
  supervision::RecordedProcess* const found = *pid <= INT_MAX ? processes_.find(static_cast<pid_t>(*pid)) : nullptr;
  if (found == nullptr) return base::fail("process {} is no longer recorded", *pid);
  return act(*found);
}

}  // namespace heaptap::uplink
