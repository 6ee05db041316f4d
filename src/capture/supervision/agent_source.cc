#include "capture/supervision/agent_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/supervision/exit_start.h"

namespace heaptap::supervision {
namespace {

constexpr std::chrono::milliseconds kProgressTick{wire::kExitPatienceMs / 8};

// Whether the process ends after this notice, and the kernel ends us with it: all processes of a pid namespace end with its first one.
bool ends_us_too(const RecordedProcess& process, const std::optional<wire::ExitNotice>& notice) {
  return process.pid == 1 && !is_exit_start(notice);
}

ScanAccess access_to(RecordedProcess& process, const std::optional<wire::ExitNotice>& notice) {
  const bool is_exiting = notice.has_value();
  wire::LogHeader& log = process.log_half->log().header();
  const auto stop = [&log, pid = process.pid, is_exiting] {
    auto stopped = process::StoppedProcess::stop(pid);
    // Yama may forbid tracing a process that isn't our child; one that waits at its exit can permit it.
    if (!stopped && is_exiting && log::ask_access(log, getpid())) return process::StoppedProcess::stop(pid);
    return stopped;
  };
  // Data read is written first, if no other thread will do it.
  const bool ends_all = ends_us_too(process, notice);
  return {stop, [&log, ends_all] { return ends_all ? log::waits_at_exit(log) : log::finish_exit(log); }};
}

}  // namespace

AgentSource::AgentSource(RecordedProcesses& processes, AgentServer& server, std::chrono::nanoseconds patience)
    : processes_(processes),
      server_(server),
      patience_(patience),
      all_answered_at_(std::chrono::steady_clock::now()),
      holders_(server.session()) {
  processes_.before_end([this](RecordedProcess& process) { forget(process); });
}

AgentSource::~AgentSource() { processes_.before_end({}); }

void AgentSource::add_waits(std::vector<pollfd>& waits) const {
  server_.add_waits(waits);
  waits.push_back({waker_.descriptor(), POLLIN, 0});
  for (const auto& [pid, watch] : watches_) waits.push_back({watch.descriptor(), POLLIN, 0});
  if (accepts_ && processes_.empty()) holders_.add_waits(waits);
}

void AgentSource::take_news() {
  waker_.silence();
  while (auto request = server_.accept()) begin(*std::move(request));
  all_answered_at_ = std::chrono::steady_clock::now();
  look_at_exits();
  look_at_filters();
  note_refusals();
}

void AgentSource::stay_for(pid_t process) {
  awaited_.emplace(process);
  awaited_until_ = std::chrono::steady_clock::now() + 2 * patience_;
}

bool AgentSource::follows_children() const { return (processes_.options().log.flags & wire::kFollowFork) != 0; }

bool AgentSource::expects_more() {
  if (!accepts_) return false;
  if (awaited_) return !awaited_->has_ended() && std::chrono::steady_clock::now() < awaited_until_;
  return follows_children() && holders_.are_there();
}

void AgentSource::note_refusals() {
  if (server_.refused() == 0) return;
  for (RecordedProcess& process : processes_.all()) {
    if (processes_.program().is(process.pid)) {
      process.recording->note({model::NoteKind::kStrangerConnected});
    }
  }
}

// The answer is sent by the thread that finds it.
void AgentSource::answer(AgentRequest request) {
  const auto tell = [connection = std::make_shared<base::UniqueFd>(std::move(request.connection))](
                        uint32_t error, const ReportOutcome& outcome) {
    AgentServer::tell(*connection, error, outcome.counts);
  };
  const auto answer = [tell](const ReportOutcome& outcome) { tell(outcome.is_done ? 0 : EIO, outcome); };
  RecordedProcess* const process = processes_.find(request.process);
  if (process == nullptr || reports_ == nullptr) return tell(ENOTSUP, {});
  if (request.hello.reason == wire::StartReason::kReport) {
    if (!request.attached) return tell(EBADF, {});
    return reports_->request(*process, std::move(request.attached), answer);
  }
  const auto number = scan(*process);
  if (!number) return tell(number.error().kind == base::ErrorKind::kUsage ? ENOTSUP : EPERM, {});
  reports_->request_counts(*process, *number, answer);
}

void AgentSource::begin(AgentRequest request) {
  if (wire::is_asked_by_program(request.hello.reason)) return answer(std::move(request));
  awaited_.reset();
  const wire::Hello& hello = request.hello;
  processes_.end_by_exec(request.process);  // if it is already recorded
  const auto status = process::read_thread_status(request.process);
  const pid_t parent = status ? status->parent : hello.parent_pid;  // in its pid namespace it is another one
  if (!accepts_ || detached_.contains(request.process) || detached_.contains(parent)) {
    detached_.insert(request.process);
    server_.answer(std::move(request.connection), nullptr);
    return;
  }
  RecordedProcess* const process =
      processes_.begin({.process = request.process,
                        .parent = parent,
                        .architecture = static_cast<wire::Architecture>(hello.architecture),
                        .word_bytes = hello.word_bytes,
                        .begins_off = (hello.flags & wire::kBeginsOff) != 0,
                        .from_start = hello.reason == wire::StartReason::kStart});
  if (process == nullptr) {
    server_.answer(std::move(request.connection), nullptr);
    return;
  }
  if (follows_children()) holders_.add(process->pid, process->log_half->log());
  const process::FilterLook filters(request.process);  // while it waits
  if (!server_.answer(std::move(request.connection), &process->log_half->log())) return note_gone(*process);
  watches_.erase(request.process);
  watches_.try_emplace(request.process, request.process);
  filters_.insert_or_assign(request.process, filters);
  waker_.add(process->log_half->log().header());
}

// Where no request can have waited for so long, the process has ended before it did anything.
void AgentSource::note_gone(RecordedProcess& process) {
  if (std::chrono::steady_clock::now() - all_answered_at_ < patience_) return processes_.drop(process.pid);
  process.recording->note({model::NoteKind::kNotAnswered});
  const bool is_awaited = processes_.program().is(process.pid);
  if (!is_awaited && !process::ProcessWatch(process.pid).has_ended()) process.recording->note_detached();
}

void AgentSource::forget(RecordedProcess& process) {
  waker_.remove(process.log_half->log().header());
  watches_.erase(process.pid);
  filters_.erase(process.pid);
}

// A few at a time, so that many processes cost no more than some.
void AgentSource::look_at_filters() {
  constexpr std::chrono::milliseconds kBetween{20};
  constexpr size_t kAtOnce = 8;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_at_filters_) return;
  next_look_at_filters_ = now + kBetween;
  std::vector<RecordedProcess>& all = processes_.all();
  for (size_t i = 0; i < std::min(all.size(), kAtOnce); ++i) {
    RecordedProcess& process = all[next_for_filters_++ % all.size()];
    const auto known = filters_.find(process.pid);
    if (known == filters_.end() || !known->second.finds_one()) continue;
    process.log_half->log().header().is_filtered.store(1, std::memory_order_relaxed);
    filters_.erase(known);
  }
}

void AgentSource::look_at_exits() {
  for (RecordedProcess& process : processes_.all()) {
    wire::LogHeader& log = process.log_half->log().header();
    const auto notice = log::take_exit_notice(log);
    if (!notice) continue;
    {
      const auto progress = keep_showing_progress();
      (void)process.log_half->scan(access_to(process, notice), notice);  // a failure is noted in the trace
      if (ends_us_too(process, notice)) write_all();
    }
    log::finish_exit(log);  // if it is still waiting
    if (is_exit_start(notice)) waker_.look_again();
  }
}

void AgentSource::write_all() {
  for (RecordedProcess& process : processes_.all()) (void)process.recording->write_up_to_now();
}

base::Result<uint32_t> AgentSource::scan(RecordedProcess& process) {
  const auto progress = keep_showing_progress();
  return process.log_half->scan(access_to(process, std::nullopt), std::nullopt);
}

bool AgentSource::has_left(const RecordedProcess& process) {
  if (detached_.contains(process.pid)) return true;
  const auto watch = watches_.find(process.pid);
  const bool is_program = processes_.program().is(process.pid);
  const bool has_ended = is_program ? processes_.program().ended : watch == watches_.end() || watch->second.has_ended();
  // Its recording may continue for long if a connection is slow; until then no other one is woken for the end.
  if (has_ended && watch != watches_.end()) watches_.erase(watch);
  return has_ended;
}

void AgentSource::detach(RecordedProcess& process) {
  process.log_half->detach();
  holders_.remove(process.pid);
  detached_.insert(process.pid);
  watches_.erase(process.pid);
}

// While the result lives, waiting programs see that this process is working. The processes must not be changed
// otherwise during that time.
std::jthread AgentSource::keep_showing_progress() {
  return std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ticks;
    while (!stop.stop_requested()) {
      show_progress();
      ticks.wait_for(lock, stop, kProgressTick, [] { return false; });
    }
  });
}

void AgentSource::show_progress() {
  for (RecordedProcess& process : processes_.all()) log::show_progress(process.log_half->log().header());
}

}  // namespace heaptap::supervision
