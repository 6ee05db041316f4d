#include "record/recordings/control_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <span>
#include <utility>

#include "capture/process/stat_line.h"
#include "capture/supervision/trace_half.h"
#include "common/base/clock.h"
#include "common/base/pages.h"
#include "common/base/signal_names.h"
#include "common/base/small_file.h"

namespace heaptap::recordings {
namespace {

using control::Kind;
using control::News;
using message::Fields;

constexpr size_t kMaxNameBytes = 256;
constexpr uint32_t kMaxDepth = 65535;

std::string program_of(const supervision::RecordedProcess& process) {
  return std::string(base::file_name_of(supervision::program_of(process.recording->capture())));
}

control::Process description_of(const supervision::RecordedProcess& process) {
  const model::Capture& capture = process.recording->capture();
  return {.pid = capture.pid,
          .parent_pid = capture.parent_pid,
          .image = process.image,
          .program = program_of(process),
          .via = capture.via,
          .trace = std::string(base::file_name_of(process.trace_half->path())),
          .runs = true,
          .is_on = process.recording->is_on()};
}

control::Process description_of(const supervision::EndedProcess& process) {
  return {.pid = process.pid,
          .parent_pid = process.parent_pid,
          .image = process.image,
          .program = std::string(base::file_name_of(process.program)),
          .via = process.via,
          .trace = std::string(base::file_name_of(process.trace)),
          .executed = process.executed,
          .detached = process.detached,
          .exit = process.exit};
}

std::string absolute_path(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).string();
}

// What /proc knows of the process.
void add_system_figures(control::Figures& figures, pid_t pid) {
  const auto stat = process::StatLine::of(pid);
  const auto pages = stat.number(process::StatLine::kResident);
  const auto user = stat.number(process::StatLine::kUserTime);
  const auto system = stat.number(process::StatLine::kSystemTime);
  if (pages) figures.resident_bytes = *pages * base::page_bytes();
  constexpr uint64_t kNsASecond = 1'000'000'000;
  const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  if (user && system && ticks > 0) figures.target_cpu_ns = (*user + *system) * (kNsASecond / ticks);
}

}  // namespace

ControlService::ControlService(supervision::RecordedProcesses& processes, supervision::RecordingSource& source)
    : processes_(processes), source_(source) {
  if (auto file = endpoint::SocketFile::create(getpid())) file_.emplace(*std::move(file));
}

void ControlService::add_waits(std::vector<pollfd>& waits) const {
  if (file_) waits.push_back({file_->descriptor(), POLLIN, 0});
  for (const supervision::RecordedProcess& process : processes_.all()) {
    if (!process.control) continue;
    for (const int socket : process.control->descriptors()) waits.push_back({socket, POLLIN, 0});
  }
  server_.add_waits(waits);
}

void ControlService::serve() {
  if (file_) server_.accept_from(file_->descriptor());
  for (const supervision::RecordedProcess& process : processes_.all()) {
    if (!process.control) continue;
    for (const int socket : process.control->descriptors()) server_.accept_from(socket);
  }
  tell_what_happened();
  // Bounds the requests per round, so that a busy client doesn't keep the log from being drained.
  constexpr int kMaxRequests = 64;
  for (int i = 0; i < kMaxRequests; ++i) {
    const auto request = server_.next_request();
    if (!request) break;
    answer(*request);
    tell_what_happened();
  }
}

// Compares the state last sent to clients with the current one: changes by a client, the program or its end are each
// sent once.
void ControlService::tell_what_happened() {
  for (const supervision::RecordedProcess& process : processes_.all()) {
    const uint32_t pid = process.recording->capture().pid;
    const auto known =
        std::ranges::find_if(told_, [&](const Told& told) { return told.pid == pid && told.image == process.image; });
    if (known != told_.end()) {
      tell_of(process, *known);
      continue;
    }
    const auto is_earlier = [](const model::Mark& mark) { return mark.kind == model::MarkKind::kEarlier; };
    Told told{.pid = pid,
              .image = process.image,
              .marks = static_cast<uint32_t>(std::ranges::count_if(process.trace_half->marks(), is_earlier))};
    if (process.image == 1) {  // of others their end by exec was told
      server_.tell(control::encode(News{.kind = News::Kind::kBegan,
                                        .pid = pid,
                                        .parent_pid = process.recording->capture().parent_pid,
                                        .text = program_of(process)}));
    }
    tell_of(process, told);
    told_.push_back(told);
  }
  for (; ended_count_ < processes_.ended().size(); ++ended_count_) {
    const supervision::EndedProcess& ended = processes_.ended()[ended_count_];
    std::erase_if(told_, [&](const Told& told) { return told.pid == ended.pid && told.image == ended.image; });
    const supervision::RecordedProcess* const next = processes_.find(static_cast<pid_t>(ended.pid));
    const bool has_executed = ended.executed && next != nullptr;
    server_.tell(control::encode(News{.kind = has_executed     ? News::Kind::kExecuted
                                              : ended.detached ? News::Kind::kDetached
                                                               : News::Kind::kEnded,
                                      .pid = ended.pid,
                                      .exit = ended.exit,
                                      .text = has_executed ? program_of(*next) : ""}));
  }
}

void ControlService::tell_of(const supervision::RecordedProcess& process, Told& told) {
  const supervision::RecordingFigures figures = process.recording->figures();
  for (; told.scans < figures.scans; ++told.scans) {
    const News news{.kind = News::Kind::kScanned, .pid = told.pid, .number = told.scans + 1};
    server_.tell(control::encode(news));
  }
  const std::vector<model::Mark>& marks = process.trace_half->marks();
  for (; told.marks < marks.size(); ++told.marks) {
    const model::Mark& mark = marks[told.marks];
    const News::Kind kind = mark.kind == model::MarkKind::kStopped   ? News::Kind::kSwitchedOff
                            : mark.kind == model::MarkKind::kStarted ? News::Kind::kSwitchedOn
                                                                     : News::Kind::kMarked;
    server_.tell(control::encode(News{.kind = kind, .pid = told.pid, .number = mark.number, .text = mark.name}));
  }
}

void ControlService::answer(const recordings::Server::Request& request) {
  if (request.message.kind == Kind::kSubscribe) server_.subscribe(request.client);
  if (request.message.kind == Kind::kSnapshot) return snapshot(request);
  const auto reply = reply_to(request.message);
  if (reply) {
    server_.answer(request.client, request.message.number, *reply);
  } else {
    server_.refuse(request.client, request.message.number, reply.error());
  }
}

ControlService::Reply ControlService::reply_to(const message::Message& message) {
  const Fields& fields = message.fields;
  switch (message.kind.as<Kind>()) {
    case Kind::kSettings:
      return settings();
    case Kind::kProcesses:
      return list();
    case Kind::kFigures:
      return figures(control::decode_process_request(fields));
    case Kind::kMarks:
      return marks(control::decode_process_request(fields));
    case Kind::kStart:
      return switch_to(control::decode_process_request(fields), true);
    case Kind::kStop:
      return switch_to(control::decode_process_request(fields), false);
    case Kind::kReset:
      return mark(control::decode_process_request(fields).pid, model::MarkKind::kReset, "reset");
    case Kind::kMark: {
      const control::MarkRequest request = control::decode_mark_request(fields);
      return mark(request.pid, model::MarkKind::kNamed, request.name);
    }
    case Kind::kScan:
      return scan(control::decode_process_request(fields));
    case Kind::kDepth:
      return set_depth(control::decode_depth_request(fields));
    case Kind::kDetach:
      return detach(control::decode_process_request(fields));
    case Kind::kKill:
      return kill(control::decode_kill_request(fields));
    case Kind::kSubscribe:
      return Fields{};
    default:
      return base::fail("this heaptap ({}) doesn't support requests of kind {}", HEAPTAP_VERSION, message.kind.value);
  }
}

ControlService::Reply ControlService::settings() const {
  const supervision::RecordingOptions& options = processes_.options();
  return control::encode(
      control::Settings{.collector_pid = static_cast<uint32_t>(getpid()),
                        .heaptap_version = HEAPTAP_VERSION,
                        .via = options.via,
                        .depth = processes_.depth(),
                        .follows_fork = (options.log.flags & wire::kFollowFork) != 0,
                        .follows_exec = (options.log.flags & wire::kFollowExec) != 0,
                        .scans_at_end = (options.log.flags & wire::kScanAtEnd) != 0,
                        .drops_on_overflow = options.log.overflow_policy == wire::OverflowPolicy::kDrop,
                        .command = options.command});
}

ControlService::Reply ControlService::list() const {
  std::vector<control::Process> all;
  for (const supervision::RecordedProcess& process : processes_.all()) all.push_back(description_of(process));
  for (const supervision::EndedProcess& process : processes_.ended()) all.push_back(description_of(process));
  return control::encode(all);
}

ControlService::Reply ControlService::figures(const control::ProcessRequest& request) {
  const auto process = one(request.pid);
  if (!process) return std::unexpected(process.error());
  const supervision::Recording& recording = *(*process)->recording;
  const supervision::RecordingFigures recorded = recording.figures();
  control::Figures figures{.pid = recording.capture().pid,
                           .time_ns = recorded.time_ns,
                           .events = recorded.events,
                           .lost_events = recorded.lost_events,
                           .log_used_bytes = recorded.log_used_bytes,
                           .log_limit_bytes = recorded.log_limit_bytes,
                           .trace_bytes = recorded.trace_bytes,
                           .collector_cpu_ns = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                           .is_on = recording.is_on(),
                           .marks = recorded.marks,
                           .scans = recorded.scans,
                           .paused_by_tracer_ns = recorded.paused_by_tracer_ns};
  add_system_figures(figures, (*process)->pid);
  return control::encode(figures);
}

ControlService::Reply ControlService::marks(const control::ProcessRequest& request) {
  const auto process = one(request.pid);
  if (!process) return std::unexpected(process.error());
  // The last ones, as many as an answer holds.
  constexpr size_t kMaxMarks = 10'000;
  const std::vector<model::Mark>& marks = (*process)->trace_half->marks();
  return control::encode(std::span(marks).last(std::min(marks.size(), kMaxMarks)));
}

ControlService::Reply ControlService::switch_to(const control::ProcessRequest& request, bool on) {
  // Of all, that holds for those that begin later, too.
  if (!request.pid) processes_.begin_switched_off(!on);
  return for_each(request.pid, [on](supervision::RecordedProcess& process) -> base::Result<> {
    return process.recording->set_on(on);
  });
}

ControlService::Reply ControlService::mark(std::optional<uint64_t> pid, model::MarkKind kind, const std::string& name) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return base::fail_as(base::ErrorKind::kUsage, "a mark's name has 1 to {} bytes", kMaxNameBytes);
  }
  std::vector<model::Mark> marks;
  const auto done = for_each(pid, [&](supervision::RecordedProcess& process) -> base::Result<> {
    auto mark = process.recording->mark(kind, name);
    if (!mark) return std::unexpected(mark.error());
    marks.push_back(*std::move(mark));
    if (supervision::BlackBox* const box = process.trace_half->black_box();
        box != nullptr && kind == model::MarkKind::kNamed)
      HEAPTAP_TRY(box->keep(fmt::format("mark '{}'", name)));
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return control::encode(marks);
}

ControlService::Reply ControlService::scan(const control::ProcessRequest& request) {
  const auto process = one(request.pid);
  if (!process) return std::unexpected(process.error());
  const auto number = source_.scan(**process);
  if (!number) return std::unexpected(number.error());
  return control::encode(control::Scanned{.pid = (*process)->recording->capture().pid, .number = *number});
}

ControlService::Reply ControlService::set_depth(const control::DepthRequest& request) {
  if (request.depth > kMaxDepth) {
    return base::fail_as(base::ErrorKind::kUsage, "a depth is 0 (all frames) to {}", kMaxDepth);
  }
  processes_.set_depth(static_cast<uint32_t>(request.depth));
  return Fields{};
}

ControlService::Reply ControlService::detach(const control::ProcessRequest& request) {
  return for_each(request.pid, [this](supervision::RecordedProcess& process) -> base::Result<> {
    process.recording->note_detached();
    source_.detach(process);
    return {};
  });
}

ControlService::Reply ControlService::kill(const control::KillRequest& request) {
  const auto signal = base::signal_number(request.signal.empty() ? "TERM" : request.signal);
  if (!signal) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown signal '{}': use TERM, KILL, INT, HUP, …", request.signal);
  }
  const auto process = one(request.pid);
  if (!process) return std::unexpected(process.error());
  if (::kill((*process)->pid, *signal) != 0) {
    return base::fail("can't send SIG{} to process {}: {}", base::signal_name(*signal), (*process)->pid,
                      base::reason_of(errno));
  }
  return Fields{};
}

// Flushes everything up to now. A process that has ended has all of it in its trace, which can be requested as well.
void ControlService::snapshot(const recordings::Server::Request& request) {
  const uint64_t number = request.message.number;
  const control::SnapshotRequest asked = control::decode_snapshot_request(request.message.fields);
  const auto process = one(asked.pid);
  const uint32_t image = asked.image;
  const bool is_earlier = process && image != 0 && image != (*process)->image;
  if ((!process || is_earlier) && give_ended_trace(request, asked)) return;
  if (is_earlier) {
    base::Error none = base::make_error("process {} has no image {}", (*process)->pid, image);
    none.kind = base::ErrorKind::kUsage;
    return server_.refuse(request.client, number, none);
  }
  if (!process) return server_.refuse(request.client, number, process.error());
  if ((*process)->trace_half->black_box() != nullptr) {
    return server_.refuse(
        request.client, number,
        base::make_error("process {} keeps its last events in memory (--ring): `heaptap mark {} NAME` "
                         "writes them to a file, which can be read",
                         (*process)->pid, (*process)->pid));
  }
  supervision::Recording& recording = *(*process)->recording;
  if (const auto written = recording.write_up_to_now(); !written) {
    return server_.refuse(request.client, number, written.error());
  }
  const supervision::RecordingFigures figures = recording.figures();
  const control::Snapshot snapshot{.pid = recording.capture().pid,
                                   .image = (*process)->image,
                                   .trace_bytes = figures.trace_bytes,
                                   .events = figures.events,
                                   .time_ns = figures.time_ns,
                                   .trace = absolute_path((*process)->trace_half->path())};
  const base::UniqueFd trace = (*process)->trace_half->open_trace();
  server_.answer(request.client, number, control::encode(snapshot), trace ? trace.get() : -1);
}

// Of a program that isn't recorded any more: the last one of its process, or the one that was asked for.
bool ControlService::give_ended_trace(const recordings::Server::Request& request,
                                      const control::SnapshotRequest& asked) {
  const auto is_meant = [&](const supervision::EndedProcess& process) {
    return (!asked.pid || process.pid == *asked.pid) && (asked.image == 0 || process.image == asked.image) &&
           !process.trace.empty();
  };
  const std::vector<supervision::EndedProcess>& all = processes_.ended();
  const auto found = std::find_if(all.rbegin(), all.rend(), is_meant);
  if (found == all.rend()) return false;
  const base::UniqueFd trace(open(found->trace.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!trace || fstat(trace.get(), &facts) != 0) return false;
  const control::Snapshot snapshot{.pid = found->pid,
                                   .image = found->image,
                                   .trace_bytes = static_cast<uint64_t>(facts.st_size),
                                   .trace = absolute_path(found->trace)};
  server_.answer(request.client, request.message.number, control::encode(snapshot), trace.get());
  return true;
}

base::Result<supervision::RecordedProcess*> ControlService::one(std::optional<uint64_t> pid) {
  std::vector<supervision::RecordedProcess>& all = processes_.all();
  if (all.empty()) return base::fail("the recording has ended");
  if (!pid) {
    supervision::RecordedProcess* const program = processes_.find(processes_.program().process);
    return program != nullptr ? program : &all.front();
  }
  supervision::RecordedProcess* const found = *pid <= INT32_MAX ? processes_.find(static_cast<pid_t>(*pid)) : nullptr;
  if (found != nullptr) return found;
  if (std::ranges::find(processes_.ended(), *pid, &supervision::EndedProcess::pid) != processes_.ended().end()) {
    return base::fail("process {} is no longer recorded: see its trace", *pid);
  }
  return base::fail("process {} is not one of this recording: `processes` lists them", *pid);
}

ControlService::Reply ControlService::for_each(
    std::optional<uint64_t> pid, const std::function<base::Result<>(supervision::RecordedProcess&)>& act) {
  if (pid) {
    const auto process = one(pid);
    if (!process) return std::unexpected(process.error());
    HEAPTAP_TRY(act(**process));
    return Fields{};
  }
  if (processes_.empty()) return base::fail("the recording has ended");
  for (supervision::RecordedProcess& process : processes_.all()) HEAPTAP_TRY(act(process));
  return Fields{};
}

}  // namespace heaptap::recordings
