#include "capture/supervision/supervisor.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <vector>

#include "common/base/stop_signals.h"
#include "common/base/wait_status.h"

namespace heaptap::supervision {
namespace {

constexpr int kLongestPauseMs = 20;
constexpr int kIdlePauseMs = 200;
constexpr uint64_t kBacklogBytes = 1024 * 1024;  // after a drain of this many records some are left
constexpr uint64_t kBusyBytes = 256 * 1024;      // after a drain of this many records the next one follows soon
constexpr std::chrono::seconds kLongestLeave{10};
constexpr std::chrono::seconds kLongestHurry{1};  // the same, when the user asks a second time

}  // namespace

void Supervisor::settle() {
  while (!source_.is_settled()) {
    wait_for_news();
    source_.take_news();
    adapt_pause(processes_.drain());
    end_those_that_left();
  }
}

void Supervisor::abandon() {
  options_ = {.duration = std::chrono::nanoseconds{0}, .scan_before_detaching = false};
  watch(std::nullopt);
}

void Supervisor::watch(std::optional<launch::Launched> launched) {
  StartedProgram& program = processes_.program();
  if (launched) program = {.process = launched->process, .descriptor = std::move(launched->descriptor)};
  if (options_.ends_by_signal)
    base::stop_signals::forward_to(launched ? program.process : 0);
  else
    base::stop_signals::ignore_all();
  while (!is_over()) {
    wait_for_news();
    source_.take_news();
    adapt_pause(processes_.drain());
    if (options_.duration && !detach_at_ && source_.is_settled()) detach_at_ = Clock::now() + *options_.duration;
    set_marks();
    reports_.serve();
    service_.serve();
    look_after_program();
    hand_on_signal();
    end_those_that_left();
    if (is_time_to_detach()) detach_all();
  }
  service_.serve();  // after the end of the last one
}

bool Supervisor::is_over() const {
  const bool is_awaited = processes_.program().runs() && (options_.stays_with_program || !detached_since_);
  return !is_awaited && processes_.empty() && !source_.expects_more();
}

void Supervisor::wait_for_news() {
  std::vector<pollfd> waits;
  source_.add_waits(waits);
  service_.add_waits(waits);
  const bool expects_end = processes_.program().runs() && !program_is_exiting_;
  if (expects_end) waits.push_back({processes_.program().descriptor.get(), POLLIN, 0});
  const int pause_ms = program_is_exiting_ ? 1 : processes_.empty() ? kIdlePauseMs : pause_ms_;
  for (const RecordedProcess& process : processes_.all()) {
    if (process.log_half != nullptr) process.log_half->rest();
  }
  poll(waits.data(), waits.size(), pause_ms);
  for (const RecordedProcess& process : processes_.all()) {
    if (process.log_half != nullptr) process.log_half->wake_up();
  }
  program_is_exiting_ = expects_end && waits.back().revents != 0;
}

void Supervisor::adapt_pause(uint64_t drained_bytes) {
  if (drained_bytes >= kBacklogBytes) {
    pause_ms_ = 0;
  } else if (drained_bytes >= kBusyBytes) {
    pause_ms_ = 1;
  } else if (drained_bytes == 0) {
    pause_ms_ = std::clamp(pause_ms_ * 2, 1, kLongestPauseMs);
  } else {
    pause_ms_ = std::clamp(pause_ms_, 2, 8);
  }
}

// For each process, at about the same time.
void Supervisor::set_marks() {
  if (!options_.mark_every || processes_.empty()) return;
  const Clock::time_point now = Clock::now();
  if (!mark_at_) mark_at_ = now + *options_.mark_every;
  if (now < *mark_at_) return;
  for (const RecordedProcess& process : processes_.all()) {
    (void)process.recording->mark(model::MarkKind::kNamed, "every");
  }
  // A delayed collector doesn't catch up on missed moments.
  while (*mark_at_ <= now) *mark_at_ += *options_.mark_every;
}

void Supervisor::look_after_program() {
  StartedProgram& program = processes_.program();
  if (!program.runs()) return;
  // It may also be that a scan has stopped it just now.
  const auto status = base::wait_for(program.process, WNOHANG);
  if (!status || !status->has_ended()) return;
  program.status = *status;
  program.ended = true;
  base::stop_signals::forward_to(0);
  source_.take_news();  // a program that ended before its recording was set up is still in the queue
  // A process that was never recorded: its trace says so.
  if (!processes_.knows(program.process)) (void)processes_.begin({.process = program.process});
}

int Supervisor::requests() const { return base::stop_signals::requests() - handed_on_; }

// The first signal is for the program: on this machine it gets it from the terminal, or by stop_signals.
void Supervisor::hand_on_signal() {
  if (handed_on_ > 0 || detached_since_ || base::stop_signals::requests() == 0) return;
  if (options_.elsewhere != nullptr && options_.elsewhere->hand_on(base::stop_signals::last_request())) handed_on_ = 1;
}

void Supervisor::end_those_that_left() {
  const StartedProgram& program = processes_.program();
  std::vector<std::pair<pid_t, model::ExitStatus>> gone;
  const auto longest = requests() > requests_before_ ? kLongestHurry : kLongestLeave;
  const bool is_detaching = options_.elsewhere != nullptr && options_.elsewhere->is_detaching();
  const bool too_long = detached_since_ && Clock::now() - *detached_since_ > longest && !is_detaching;
  for (const RecordedProcess& process : processes_.all()) {
    const bool has_left = source_.has_left(process);
    if (has_left && !process.recording->can_finish()) continue;
    if (!has_left && too_long) process.recording->note({model::NoteKind::kNotDetachedInTime});
    if (has_left || too_long) gone.emplace_back(process.pid, process.exit);
  }
  for (auto& [pid, exit] : gone) {
    if (RecordedProcess* const process = processes_.find(pid)) reports_.serve_last(*process);
    processes_.end(pid, program.is(pid) && program.ended ? exit_of(program.status) : exit);
  }
}

// While the started program runs, only the clock ends the recording.
bool Supervisor::is_time_to_detach() const {
  if (detached_since_) return false;
  const bool is_asked = (!processes_.program().runs() && requests() > 0) || service_.wants_end();
  return is_asked || (detach_at_ && Clock::now() >= *detach_at_);
}

void Supervisor::detach_all() {
  for (RecordedProcess& process : processes_.all()) {
    const bool in_a_hurry = requests() > 1;
    if (options_.scan_before_detaching && !in_a_hurry) {
      const auto scanned = source_.scan(process);
      if (!scanned && !source_.has_left(process)) process.recording->note(model::failure_note(scanned.error().message));
    }
    process.recording->note_detached();
    source_.detach(process);
  }
  source_.accept_no_more();
  detached_since_ = Clock::now();
  requests_before_ = requests();
}

}  // namespace heaptap::supervision
