#include "record/recordings/control_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include "capture/process/stat_line.h"
#include "capture/supervision/trace_half.h"
#include "common/base/clock.h"
#include "common/base/pages.h"
#include "common/base/signal_names.h"
#include "common/base/small_file.h"

namespace heaptap::recordings {
namespace {

using message::Field;
using message::Fields;
using message::Kind;
using message::NewsKind;

constexpr size_t kMaxNameBytes = 256;
constexpr uint32_t kMaxDepth = 65535;

Fields news_of(NewsKind kind, uint32_t pid) {
  Fields news;
  news.add(Field::kNewsKind, static_cast<uint64_t>(kind));
  news.add(Field::kPid, pid);
  return news;
}

void add_exit(Fields& fields, const model::ExitStatus& exit) {
  fields.add_known(Field::kExitCode, exit.code);
  fields.add_known(Field::kExitSignal, exit.signal);
}

Fields entry_of(const supervision::RecordedProcess& process) {
  const model::Capture& capture = process.recording->capture();
  Fields entry;
  entry.add(Field::kPid, capture.pid);
  entry.add(Field::kParentPid, capture.parent_pid);
  entry.add(Field::kImage, process.image);
  entry.add(Field::kProgram, base::file_name_of(supervision::program_of(capture)));
  entry.add(Field::kVia, capture.via);
  entry.add(Field::kTraceName, base::file_name_of(process.trace_half->path()));
  entry.add(Field::kIsRecorded, true);
  entry.add(Field::kIsOn, process.recording->is_on());
  return entry;
}

Fields entry_of(const supervision::EndedProcess& process) {
  Fields entry;
  entry.add(Field::kPid, process.pid);
  entry.add(Field::kParentPid, process.parent_pid);
  entry.add(Field::kImage, process.image);
  entry.add(Field::kProgram, base::file_name_of(process.program));
  entry.add(Field::kVia, process.via);
  entry.add(Field::kTraceName, base::file_name_of(process.trace));
  entry.add(Field::kIsRecorded, false);
  entry.add(Field::kHasExecuted, process.executed);
  entry.add(Field::kIsDetached, process.detached);
  add_exit(entry, process.exit);
  return entry;
}

Fields entry_of(const model::Mark& mark) {
  Fields entry;
  entry.add(Field::kNumber, mark.number);
  entry.add(Field::kMarkKind, static_cast<uint64_t>(mark.kind));
  entry.add(Field::kName, mark.name);
  entry.add(Field::kTimeNs, mark.time_ns);
  entry.add(Field::kEventsBefore, mark.events_before);
  entry.add(Field::kThread, mark.thread);
  return entry;
}

// What /proc knows of the process.
void add_system_figures(Fields& fields, pid_t pid) {
  const auto stat = process::StatLine::of(pid);
  const auto pages = stat.number(process::StatLine::kResident);
  const auto user = stat.number(process::StatLine::kUserTime);
  const auto system = stat.number(process::StatLine::kSystemTime);
  if (pages) fields.add(Field::kResidentBytes, *pages * base::page_bytes());
  constexpr uint64_t kNsASecond = 1'000'000'000;
  const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  if (user && system && ticks > 0) fields.add(Field::kTargetCpuNs, (*user + *system) * (kNsASecond / ticks));
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
  // A client that asks all the time doesn't keep the log from being drained.
  constexpr int kMaxRequests = 64;
  for (int i = 0; i < kMaxRequests; ++i) {
    const auto request = server_.next_request();
    if (!request) break;
    answer(*request);
    tell_what_happened();
  }
}

// Compares what clients were told of with what is: no matter who does something, a client, the program, its end, it is told once.
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
    Fields news = news_of(NewsKind::kBegan, pid);
    news.add(Field::kParentPid, process.recording->capture().parent_pid);
    news.add(Field::kText, base::file_name_of(supervision::program_of(process.recording->capture())));
    if (process.image == 1) server_.tell(news);  // of others their end by exec was told
    tell_of(process, told);
    told_.push_back(told);
  }
  for (; ended_count_ < processes_.ended().size(); ++ended_count_) {
    const supervision::EndedProcess& ended = processes_.ended()[ended_count_];
    std::erase_if(told_, [&](const Told& told) { return told.pid == ended.pid && told.image == ended.image; });
    const supervision::RecordedProcess* const next = processes_.find(static_cast<pid_t>(ended.pid));
    const NewsKind kind = ended.executed && next != nullptr ? NewsKind::kExecuted
                          : ended.detached                  ? NewsKind::kDetached
                                                            : NewsKind::kEnded;
    Fields news = news_of(kind, ended.pid);
    if (kind == NewsKind::kExecuted)
      news.add(Field::kText, base::file_name_of(supervision::program_of(next->recording->capture())));
    add_exit(news, ended.exit);
    server_.tell(news);
  }
}

void ControlService::tell_of(const supervision::RecordedProcess& process, Told& told) {
  const supervision::RecordingFigures figures = process.recording->figures();
  for (; told.scans < figures.scans; ++told.scans) {
    Fields news = news_of(NewsKind::kScanned, told.pid);
    news.add(Field::kNumber, told.scans + 1);
    server_.tell(news);
  }
  const std::vector<model::Mark>& marks = process.trace_half->marks();
  for (; told.marks < marks.size(); ++told.marks) {
    const model::Mark& mark = marks[told.marks];
    const NewsKind kind = mark.kind == model::MarkKind::kStopped   ? NewsKind::kSwitchedOff
                          : mark.kind == model::MarkKind::kStarted ? NewsKind::kSwitchedOn
                                                                   : NewsKind::kMarked;
    Fields news = news_of(kind, told.pid);
    news.add(Field::kNumber, mark.number);
    news.add(Field::kText, mark.name);
    server_.tell(news);
  }
}

void ControlService::answer(const recordings::Server::Request& request) {
  if (request.message.kind == Kind::kSubscribe) server_.subscribe(request.client);
  if (request.message.kind == Kind::kSnapshot) return snapshot(request);
  const auto reply = reply_to(request.message);
  if (reply) {
    server_.answer(request.client, request.message.number, *reply);
  } else {
    server_.refuse(request.client, request.message.number, reply.error().message,
                   static_cast<uint32_t>(reply.error().kind));
  }
}

ControlService::Reply ControlService::reply_to(const message::Message& message) {
  switch (message.kind) {
    case Kind::kSettings:
      return settings();
    case Kind::kProcesses:
      return list();
    case Kind::kFigures:
      return figures(message.fields);
    case Kind::kMarks:
      return marks(message.fields);
    case Kind::kStart:
      return switch_to(message.fields, true);
    case Kind::kStop:
      return switch_to(message.fields, false);
    case Kind::kReset:
      return mark(message.fields, model::MarkKind::kReset);
    case Kind::kMark:
      return mark(message.fields, model::MarkKind::kNamed);
    case Kind::kScan:
      return scan(message.fields);
    case Kind::kDepth:
      return set_depth(message.fields);
    case Kind::kDetach:
      return detach(message.fields);
    case Kind::kKill:
      return kill(message.fields);
    case Kind::kSubscribe:
      return Fields{};
    default:
      return base::fail("this heaptap ({}) doesn't support requests of kind {}", HEAPTAP_VERSION,
                        static_cast<unsigned>(message.kind));
  }
}

ControlService::Reply ControlService::settings() const {
  const supervision::RecordingOptions& options = processes_.options();
  Fields fields;
  fields.add(Field::kPid, static_cast<uint32_t>(getpid()));
  fields.add(Field::kHeaptapVersion, HEAPTAP_VERSION);
  fields.add(Field::kVia, options.via);
  fields.add(Field::kDepth, processes_.depth());
  fields.add(Field::kFollowsFork, (options.log.flags & wire::kFollowFork) != 0);
  fields.add(Field::kFollowsExec, (options.log.flags & wire::kFollowExec) != 0);
  fields.add(Field::kScansAtEnd, (options.log.flags & wire::kScanAtEnd) != 0);
  fields.add(Field::kDropsOnOverflow, options.log.overflow_policy == wire::OverflowPolicy::kDrop);
  for (const std::string& argument : options.command) fields.add(Field::kArgument, argument);
  return fields;
}

ControlService::Reply ControlService::list() const {
  Fields fields;
  for (const supervision::RecordedProcess& process : processes_.all()) fields.add(Field::kEntry, entry_of(process));
  for (const supervision::EndedProcess& process : processes_.ended()) fields.add(Field::kEntry, entry_of(process));
  return fields;
}

ControlService::Reply ControlService::figures(const Fields& request) {
  const auto process = one(request);
  if (!process) return std::unexpected(process.error());
  const supervision::Recording& recording = *(*process)->recording;
  const supervision::RecordingFigures figures = recording.figures();
  Fields fields;
  fields.add(Field::kPid, recording.capture().pid);
  fields.add(Field::kTimeNs, figures.time_ns);
  fields.add(Field::kEvents, figures.events);
  fields.add(Field::kLostEvents, figures.lost_events);
  fields.add(Field::kLogUsedBytes, figures.log_used_bytes);
  fields.add(Field::kLogLimitBytes, figures.log_limit_bytes);
  fields.add(Field::kTraceBytes, figures.trace_bytes);
  fields.add(Field::kMarkCount, figures.marks);
  fields.add(Field::kScanCount, figures.scans);
  fields.add(Field::kIsOn, recording.is_on());
  fields.add(Field::kCollectorCpuNs, base::clock_ns(CLOCK_PROCESS_CPUTIME_ID));
  add_system_figures(fields, (*process)->pid);
  return fields;
}

ControlService::Reply ControlService::marks(const Fields& request) {
  const auto process = one(request);
  if (!process) return std::unexpected(process.error());
  // As many of the last ones as an answer holds.
  constexpr size_t kMaxMarks = 10'000;
  const std::vector<model::Mark>& marks = (*process)->trace_half->marks();
  Fields fields;
  for (size_t i = marks.size() > kMaxMarks ? marks.size() - kMaxMarks : 0; i < marks.size(); ++i) {
    fields.add(Field::kEntry, entry_of(marks[i]));
  }
  return fields;
}

ControlService::Reply ControlService::switch_to(const Fields& request, bool on) {
  // Of all, that holds for those that begin later, too.
  if (!request.number(Field::kPid)) processes_.begin_switched_off(!on);
  return for_each(
      request, [on](supervision::RecordedProcess& process) -> base::Result<> { return process.recording->set_on(on); });
}

ControlService::Reply ControlService::mark(const Fields& request, model::MarkKind kind) {
  std::string name = request.text_or_empty(Field::kName);
  if (kind == model::MarkKind::kReset) name = "reset";
  if (name.empty() || name.size() > kMaxNameBytes) {
    return base::fail_as(base::ErrorKind::kUsage, "a mark's name has 1 to {} bytes", kMaxNameBytes);
  }
  Fields fields;
  const auto done = for_each(request, [&](supervision::RecordedProcess& process) -> base::Result<> {
    const auto mark = process.recording->mark(kind, name);
    if (!mark) return std::unexpected(mark.error());
    fields.add(Field::kEntry, entry_of(*mark));
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return fields;
}

ControlService::Reply ControlService::scan(const Fields& request) {
  const auto process = one(request);
  if (!process) return std::unexpected(process.error());
  const auto number = source_.scan(**process);
  if (!number) return std::unexpected(number.error());
  Fields fields;
  fields.add(Field::kPid, (*process)->recording->capture().pid);
  fields.add(Field::kNumber, *number);
  return fields;
}

ControlService::Reply ControlService::set_depth(const Fields& request) {
  const uint64_t depth = request.number_or_0(Field::kDepth);
  if (depth > kMaxDepth) {
    return base::fail_as(base::ErrorKind::kUsage, "a depth is 0 (all frames) to {}", kMaxDepth);
  }
  processes_.set_depth(static_cast<uint32_t>(depth));
  return Fields{};
}

ControlService::Reply ControlService::detach(const Fields& request) {
  return for_each(request, [this](supervision::RecordedProcess& process) -> base::Result<> {
    process.recording->note_detached();
    source_.let_go(process);
    return {};
  });
}

ControlService::Reply ControlService::kill(const Fields& request) {
  const std::string name = request.text_or_empty(Field::kSignal);
  const auto signal = base::signal_number(name.empty() ? "TERM" : name);
  if (!signal) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown signal '{}': use TERM, KILL, INT, HUP, …", name);
  }
  const auto process = one(request);
  if (!process) return std::unexpected(process.error());
  if (::kill((*process)->pid, *signal) != 0) {
    return base::fail("can't send SIG{} to process {}: {}", base::signal_name(*signal), (*process)->pid,
                      base::reason_of(errno));
  }
  return Fields{};
}

// Up to now, written. A process that has ended has all of it in its trace, which can be asked for as well.
void ControlService::snapshot(const recordings::Server::Request& request) {
  const uint64_t number = request.message.number;
  const auto process = one(request.message.fields);
  const uint32_t image = request.message.fields.small_number(Field::kImage);
  const bool is_earlier = process && image != 0 && image != (*process)->image;
  if ((!process || is_earlier) && give_ended_trace(request)) return;
  if (is_earlier) {
    const base::Error none = base::make_error("process {} has no image {}", (*process)->pid, image);
    return server_.refuse(request.client, number, none.message, static_cast<uint32_t>(base::ErrorKind::kUsage));
  }
  if (!process) {
    return server_.refuse(request.client, number, process.error().message, static_cast<uint32_t>(process.error().kind));
  }
  supervision::Recording& recording = *(*process)->recording;
  if (const auto written = recording.write_up_to_now(); !written) {
    return server_.refuse(request.client, number, written.error().message, static_cast<uint32_t>(written.error().kind));
  }
  const supervision::RecordingFigures figures = recording.figures();
  Fields fields;
  fields.add(Field::kPid, recording.capture().pid);
  fields.add(Field::kImage, (*process)->image);
  fields.add(Field::kTraceBytes, figures.trace_bytes);
  fields.add(Field::kEvents, figures.events);
  fields.add(Field::kTimeNs, figures.time_ns);
  std::error_code ignored;
  fields.add(Field::kTraceName, std::filesystem::absolute((*process)->trace_half->path(), ignored).string());
  const base::UniqueFd trace = (*process)->trace_half->open_trace();
  server_.answer(request.client, number, fields, trace ? trace.get() : -1);
}

// Of a program that isn't recorded any more: the last one of its process, or the one that was asked for.
bool ControlService::give_ended_trace(const recordings::Server::Request& request) {
  const Fields& asked = request.message.fields;
  const uint32_t image = asked.small_number(Field::kImage);
  const auto pid = asked.number(Field::kPid);
  const auto is_meant = [&](const supervision::EndedProcess& process) {
    return (!pid || process.pid == *pid) && (image == 0 || process.image == image) && !process.trace.empty();
  };
  const std::vector<supervision::EndedProcess>& all = processes_.ended();
  const auto found = std::find_if(all.rbegin(), all.rend(), is_meant);
  if (found == all.rend()) return false;
  const base::UniqueFd trace(open(found->trace.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!trace || fstat(trace.get(), &facts) != 0) return false;
  Fields fields;
  fields.add(Field::kPid, found->pid);
  fields.add(Field::kImage, found->image);
  fields.add(Field::kTraceBytes, static_cast<uint64_t>(facts.st_size));
  std::error_code ignored;
  fields.add(Field::kTraceName, std::filesystem::absolute(found->trace, ignored).string());
  server_.answer(request.client, request.message.number, fields, trace.get());
  return true;
}

base::Result<supervision::RecordedProcess*> ControlService::one(const Fields& request) {
  const auto pid = request.number(Field::kPid);
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
    const Fields& request, const std::function<base::Result<>(supervision::RecordedProcess&)>& act) {
  if (request.number(Field::kPid)) {
    const auto process = one(request);
    if (!process) return std::unexpected(process.error());
    HEAPTAP_TRY(act(**process));
    return Fields{};
  }
  if (processes_.empty()) return base::fail("the recording has ended");
  for (supervision::RecordedProcess& process : processes_.all()) HEAPTAP_TRY(act(process));
  return Fields{};
}

}  // namespace heaptap::recordings
