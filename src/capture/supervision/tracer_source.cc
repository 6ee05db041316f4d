#include "capture/supervision/tracer_source.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "capture/launch/sanitizer_check.h"
#include "capture/process/process_status.h"
#include "capture/supervision/asked_file.h"
#include "common/base/exit_status.h"
#include "common/base/small_file.h"
#include "common/base/wait_status.h"

namespace heaptap::supervision {
namespace {

using tracer::Left;

// However the scan at a process's exit ends: it goes on, once. It may wait again soon after, at its end.
class EndGoesOn {
 public:
  EndGoesOn(tracer::TracerClient& line, const tracer::Exiting& exiting) : line_(line), exiting_(exiting) {}
  ~EndGoesOn() { go_on(); }
  EndGoesOn(const EndGoesOn&) = delete;
  EndGoesOn& operator=(const EndGoesOn&) = delete;

  void go_on() {
    if (waits_) line_.end_may_go_on(exiting_.process, exiting_.notice.kind);
    waits_ = false;
  }

 private:
  tracer::TracerClient& line_;
  const tracer::Exiting& exiting_;
  bool waits_ = true;
};

ScanAccess access_to(tracer::TracerClient& line, pid_t process, EndGoesOn* goes_on) {
  return {[&line, process] { return line.hold(process); },
          [goes_on] {
            if (goes_on != nullptr) goes_on->go_on();
            return true;
          },
          true};
}

}  // namespace

model::Note tracer_end_note(base::WaitStatus status) {
  const bool by_signal = status.was_killed();
  const int number = by_signal ? status.end_signal() : status.exit_code();
  return {.kind = model::NoteKind::kTracerEnded, .numbers = {by_signal, static_cast<uint64_t>(number)}};
}

void TracerSource::attach(pid_t process) {
  asked_.insert(process);
  line_.attach(process);
}

void TracerSource::add_waits(std::vector<pollfd>& waits) const {
  if (!is_gone_) waits.push_back({line_.descriptor(), POLLIN, 0});
  waits.push_back({answers_->descriptor(), POLLIN, 0});
}

void TracerSource::take_news() {
  look_after_tracer();
  for (const tracer::Answer& answer : answers_->take()) {
    if (!is_gone_) line_.answer(answer);
  }
  while (!is_gone_) {
    const auto message = line_.receive();
    if (!message) return;
    std::visit([this](const auto& news) { take(news); }, *message);
  }
}

void TracerSource::look_after_tracer() {
  const auto now = KernelWaits::Clock::now();
  if (is_gone_ || !waits_.is_due(now)) return;
  for (const StandingThread& thread : waits_.look(now)) {
    tell({.kind = thread.looks ? TracingNews::Kind::kTracerLooks : TracingNews::Kind::kTracerWaits,
          .process = line_.process(),
          .why = thread.place});
  }
}

void TracerSource::take(const tracer::LogWanted& message) {
  RecordedProcess* process = nullptr;
  using Reason = tracer::LogWanted::Reason;
  const auto sound = message.reason == Reason::kExec ? launch::check_sanitizer(message.process) : base::Result<>();
  if (accepts_ && sound) {
    processes_.end_by_exec(message.process);  // if it is already recorded
    left_.erase(message.process);
    process = processes_.begin({.process = message.process,
                                .parent = message.parent,
                                .architecture = message.architecture,
                                .word_bytes = message.word_bytes,
                                .from_start = message.reason == Reason::kStart || message.reason == Reason::kExec});
  }
  if (process != nullptr) {
    traced_.insert(message.process);
    line_.give_log(message.process, process->log_half->log());
    process->log_half->log().close_descriptor();
    return;
  }
  line_.refuse_log(message.process);
  if (message.reason == Reason::kExec && !(accepts_ && sound)) {
    // A current recording ends here, under its existing name.
    if (RecordedProcess* const before = processes_.find(message.process)) before->recording->note_exec();
    give_up(message.process, sound ? model::Note{model::NoteKind::kExecWhileLeaving}
                                   : model::Note{.kind = model::NoteKind::kExecRefused, .name = sound.error().message});
  }
  if (asked_.erase(message.process) > 0 && accepts_) ++failures_;
}

void TracerSource::take(const tracer::Attached& message) {
  if (asked_.erase(message.process) == 0) return;
  const RecordedProcess* const process = processes_.find(message.process);
  tell({.kind = TracingNews::Kind::kRecording,
        .process = message.process,
        .program = process == nullptr ? "" : process->recording->capture().command.front()});
}

void TracerSource::take(const tracer::NotAttached& message) {
  if (asked_.erase(message.process) > 0) {
    ++failures_;
    tell({.kind = TracingNews::Kind::kNotRecorded, .process = message.process, .why = message.text});
  }
  give_up(message.process, model::failure_note(message.text));
}

void TracerSource::give_up(pid_t pid, const model::Note& why) {
  RecordedProcess* process = processes_.find(pid);
  // If the program itself isn't recorded, its trace says so.
  const bool is_program = processes_.program().is(pid);
  if (process == nullptr && is_program && !processes_.knows(pid)) process = processes_.begin({.process = pid});
  if (process != nullptr) process->recording->note(why);
  left_[pid] = is_program ? Left::Reason::kExecuted : Left::Reason::kFailed;  // the program's end will be in the trace
}

void TracerSource::take(const tracer::Exiting& message) {
  EndGoesOn goes_on(line_, message);
  RecordedProcess* const process = processes_.find(message.process);
  if (process != nullptr) {
    (void)process->log_half->scan(access_to(line_, message.process, &goes_on),
                                  message.notice);  // a failure is noted in the trace
  }
}

// As AgentSource answers requests of an agent for its program.
void TracerSource::take(const tracer::Asked& message) {
  const auto tell = [answers = answers_, process = message.process, question = message.question](
                        int error, const ReportOutcome& outcome) {
    answers->add({.process = process, .question = question, .error = error, .counts = outcome.counts});
  };
  const auto answer = [tell](const ReportOutcome& outcome) { tell(outcome.is_done ? 0 : EIO, outcome); };
  RecordedProcess* const process = processes_.find(message.process);
  if (process == nullptr || reports_ == nullptr) return tell(ENOTSUP, {});
  if (message.kind == tracer::Asked::Kind::kReport) {
    base::UniqueFd file;
    const int error = open_asked_file(message.thread, message.path, file);
    if (error != 0) return tell(error, {});
    return reports_->request(*process, std::move(file), answer);
  }
  const auto number = scan(*process);
  if (!number) return tell(EPERM, {});
  reports_->request_counts(*process, *number, answer);
}

void TracerSource::take(const Left& message) {
  RecordedProcess* const process = processes_.find(message.process);
  if (asked_.erase(message.process) > 0) {
    ++failures_;
    tell({.kind = TracingNews::Kind::kEndedBefore, .process = message.process});
  }
  if (process == nullptr) return;
  if (message.wait_status) process->exit = exit_of(*message.wait_status);
  // The reason for giving up is known.
  if (!left_.emplace(message.process, message.reason).second) return;
  if (message.reason == Left::Reason::kExecuted && !options_.follows_exec) {
    process->recording->note_exec();
    process->recording->note({model::NoteKind::kExecNotFollowed});
  }
  if (message.reason == Left::Reason::kFailed) {
    process->recording->note({model::NoteKind::kTracerDetached});
  }
}

void TracerSource::take(const tracer::Noted& message) {
  if (RecordedProcess* const process = processes_.find(message.process)) process->recording->note(message.note);
}

void TracerSource::take(const tracer::Paused& message) {
  if (RecordedProcess* const process = processes_.find(message.process))
    process->log_half->set_paused_by_tracer(message.total_ns);
}

void TracerSource::take(const tracer::TracerGone& message) {
  is_gone_ = true;
  const auto is_left = [this](const RecordedProcess& process) { return left_.contains(process.pid); };
  const auto unanswered = static_cast<unsigned>(asked_.size());
  const bool had_work = accepts_ && (processes_.program().runs() || unanswered > 0);
  asked_.clear();
  if (!had_work && std::ranges::all_of(processes_.all(), is_left)) return;
  is_broken_ = true;
  failures_ += unanswered;
  const model::Note why = tracer_end_note(message.wait_status);
  tell({.kind = TracingNews::Kind::kTracerEnded, .status = message.wait_status});
  for (RecordedProcess& process : processes_.all()) {
    if (!left_.contains(process.pid)) process.recording->note(why);
    left_.emplace(process.pid, Left::Reason::kFailed);
  }
}

base::Result<uint32_t> TracerSource::scan(RecordedProcess& process) {
  if (left_.contains(process.pid)) return base::fail("no leak scan: process {} is no longer traced", process.pid);
  return process.log_half->scan(access_to(line_, process.pid, nullptr), std::nullopt);
}

bool TracerSource::has_left(const RecordedProcess& process) {
  const StartedProgram& program = processes_.program();
  const bool is_program = program.is(process.pid);
  const auto left = left_.find(process.pid);
  // The tracer says nothing of a process that ended before it asked for a log: in the middle of its exec, for one.
  const bool is_tracers = !is_gone_ && traced_.contains(process.pid);
  if (left == left_.end()) return !is_tracers && (!is_program || program.ended);
  // A program's end is part of its trace, even if it executes one that isn't recorded.
  return left->second != Left::Reason::kExecuted || !is_program || program.ended;
}

void TracerSource::detach(RecordedProcess& process) {
  if (!left_.contains(process.pid)) line_.detach(process.pid);
}

void TracerSource::accept_no_more() {
  accepts_ = false;
  line_.detach_all();
}

}  // namespace heaptap::supervision
