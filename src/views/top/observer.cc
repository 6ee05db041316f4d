#include "views/top/observer.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "common/base/signals_blocked.h"

namespace heaptap::top {
namespace {

Answer begun_answer(const Question& question) {
  Answer answer;
  answer.kind = question.kind;
  answer.pid = question.request.pid;
  answer.image = answer.asked_image = question.request.image;
  return answer;
}

void fail_with(Answer& answer, const base::Error& error) {
  answer.message = error.message;
  answer.is_trouble = true;
}

std::string exit_text(const model::ExitStatus& exit) {
  if (exit.code) return fmt::format("ended with status {}", *exit.code);
  if (exit.signal) return fmt::format("ended by signal {}", *exit.signal);
  return "ended";
}

// Empty: reported elsewhere.
std::string text_of(const client::News& news) {
  using Kind = client::News::Kind;
  switch (news.kind) {
    case Kind::kBegan:
      return fmt::format("process {} started", news.pid);
    case Kind::kExecuted:
      return fmt::format("process {} now runs {}", news.pid, news.text);
    case Kind::kEnded:
      return fmt::format("process {} {}", news.pid, exit_text(news.exit));
    case Kind::kDetached:
      return fmt::format("process {} is no longer recorded", news.pid);
    case Kind::kMarked:
      return fmt::format("mark {} {}", news.number, news.text);
    case Kind::kSwitchedOn:
      return "recording is on";
    case Kind::kSwitchedOff:
      return "recording is off";
    case Kind::kConnectionLost:
      return news.text.empty() ? "the recording has ended" : "the recording has ended: " + news.text;
    case Kind::kScanned:
      break;
  }
  return "";
}

}  // namespace

base::Result<std::unique_ptr<Observer>> Observer::create(std::unique_ptr<client::Recording> recording,
                                                         query::Query names_from) {
  base::UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return base::fail("can't make an event descriptor: {}", base::reason_of(errno));
  return std::unique_ptr<Observer>(new Observer(std::move(recording), std::move(names_from), std::move(event)));
}

Observer::Observer(std::unique_ptr<client::Recording> recording, query::Query names_from, base::UniqueFd event)
    : recording_(std::move(recording)), names_from_(std::move(names_from)), event_(std::move(event)) {
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] { answer_all(); });
}

Observer::~Observer() {
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
    questions_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void Observer::ask(Question question) {
  {
    const std::scoped_lock lock(mutex_);
    questions_.push_back(std::move(question));
  }
  changed_.notify_all();
}

bool Observer::is_busy() const {
  const std::scoped_lock lock(mutex_);
  return is_answering_ || !questions_.empty();
}

std::vector<Answer> Observer::take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event_.get(), &count, sizeof count);
  const std::scoped_lock lock(mutex_);
  return std::exchange(answers_, {});
}

void Observer::answer_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_over_ || !questions_.empty(); });
    if (is_over_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    is_answering_ = true;
    lock.unlock();
    Answer answer = begun_answer(question);
    try {
      answer = answer_to(question);
    } catch (const std::exception& error) {
      answer.message = error.what();
      answer.is_trouble = true;
    }
    lock.lock();
    is_answering_ = false;
    answers_.push_back(std::move(answer));
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
  }
}

Answer Observer::answer_to(const Question& question) {
  Answer answer = begun_answer(question);
  switch (question.kind) {
    case Question::Kind::kSample:
      answer_sample(question, answer);
      break;
    case Question::Kind::kNames:
      if (auto names = take_names(*recording_, question.request, names_from_)) {
        answer.names = *std::move(names);
      } else {
        fail_with(answer, names.error());
      }
      break;
    case Question::Kind::kMark:
      answer_mark(question, answer);
      break;
    case Question::Kind::kScan:
      answer_scan(question, answer);
      break;
    case Question::Kind::kStack: {
      auto page = take_stack(*recording_, {question.request.pid, question.request.image}, question.stack, names_from_,
                             question.width);
      if (!page) fail_with(answer, page.error());
      if (page) answer.page = *std::move(page);
      break;
    }
    case Question::Kind::kNextProcess:
      answer_next(question, answer);
      break;
    case Question::Kind::kNextImage:
      answer_next_image(question, answer);
      break;
  }
  return answer;
}

void Observer::answer_sample(const Question& question, Answer& answer) {
  auto sample = take_sample(*recording_, question.request, names_from_);
  take_news(answer);
  if (!sample) {
    if (!answer.has_ended) fail_with(answer, sample.error());
    return;
  }
  answer.pid = sample->process.pid;
  answer.image = sample->process.image;
  answer.sample = std::make_shared<const Sample>(*std::move(sample));
  if (answer.sample->figures.scans > known_scan_) take_scan({answer.pid, answer.image}, answer);
  known_scan_ = answer.sample->figures.scans;
}

void Observer::answer_mark(const Question& question, Answer& answer) {
  const auto control = client::control_of(*recording_, "mark");
  if (!control) return fail_with(answer, control.error());
  if (const auto marked = (*control)->mark(question.request.pid, question.mark); !marked) {
    return fail_with(answer, marked.error());
  }
  answer_sample(question, answer);
  answer.mark = question.mark;
  if (!answer.is_trouble) answer.message = fmt::format("mark '{}' is set", question.mark);
}

void Observer::answer_scan(const Question& question, Answer& answer) {
  const auto control = client::control_of(*recording_, "scan");
  if (!control) return fail_with(answer, control.error());
  const auto result = (*control)->scan(question.request.pid, client::ScanKind::kAll);
  if (!result) return fail_with(answer, result.error());
  take_scan(question.request.pid, answer);
  if (answer.leaks) known_scan_ = result->number;
  // Its result is shown as long as it is the last scan.
  if (!answer.is_trouble && !answer.leaks) answer.message = fmt::format("scan {} finished", result->number);
}

void Observer::answer_next(const Question& question, Answer& answer) {
  const auto next = next_process(*recording_, question.request.pid);
  if (!next) {
    fail_with(answer, next.error());
  } else if (*next == 0) {
    answer.message = "no other process";
  } else {
    known_scan_ = 0;
    Question other = question;
    other.request.pid = *next;
    other.request.image = answer.asked_image = 0;
    answer_sample(other, answer);
  }
}

void Observer::answer_next_image(const Question& question, Answer& answer) {
  const auto next = next_image(*recording_, {question.request.pid, question.request.image});
  if (!next) {
    fail_with(answer, next.error());
  } else if (*next == 0) {
    answer.message = "no other program of this process";
  } else {
    known_scan_ = 0;
    Question other = question;
    other.request.image = *next;
    answer_sample(other, answer);
    // After a return to the last program, follow the process through further ones again.
    const bool is_last = answer.sample != nullptr && *next == answer.sample->image_count;
    answer.asked_image = is_last ? 0 : *next;
  }
}

void Observer::take_scan(client::ProgramId program, Answer& answer) {
  auto leaks = take_leaks(*recording_, program);
  if (!leaks) {
    fail_with(answer, leaks.error());
    return;
  }
  if (leaks->leaks.scanned) answer.leaks = *std::move(leaks);
}

void Observer::take_news(Answer& answer) {
  client::LiveControl* const control = recording_->control();
  if (control == nullptr) return;
  for (const client::News& news : control->take_news()) {
    const bool is_end = news.kind == client::News::Kind::kConnectionLost;
    if (std::string text = text_of(news); !text.empty()) answer.message = std::move(text);
    answer.has_ended = answer.has_ended || is_end;
  }
}

}  // namespace heaptap::top
