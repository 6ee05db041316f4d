#include "views/top/session.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "views/top/draw.h"
#include "views/top/history.h"
#include "views/top/keys.h"
#include "views/top/name_book.h"
#include "views/top/observer.h"
#include "views/top/picture.h"
#include "views/top/screen.h"

namespace heaptap::top {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFirstNames = 200;
constexpr size_t kMaxAsked = 100'000;

class Session {
 public:
  Session(std::unique_ptr<Observer> observer, std::unique_ptr<Screen> screen, const TopSettings& settings)
      : settings_(settings), is_utf8_(locale_is_utf8()), pid_(settings.pid), image_(settings.image) {
    observer_ = std::move(observer);
    screen_ = std::move(screen);
    state_.filter = settings.filter;
    if (settings.sort) state_.sorts[0] = *settings.sort;
  }

  Ending run() {
    ask_sample(kFirstNames);
    while (!is_over_) {
      show();
      wait();
      if (const auto number = screen_->handle_signals()) ending_.signal = number;
      is_over_ = is_over_ || ending_.signal;
      take_answers();
      for (auto key = is_over_ ? std::nullopt : screen_->read_key(); key && !is_over_; key = screen_->read_key()) {
        press_key(*key);
        if (!is_over_) make_table_again();
      }
      ask_what_is_due();
    }
    return leave();
  }

 private:
  void show();
  void make_table_again();
  void wait();
  void take_answers();
  void take(Answer& answer);
  void press_key(const Key& key);
  [[nodiscard]] bool tell_over();
  void ask(Question question);
  void ask(Question::Kind kind);
  void ask_sample(size_t first_names);
  void ask_mark(const std::string& name);
  void ask_stack(uint64_t id);
  void ask_names();
  void ask_what_is_due();
  Ending leave();
  [[nodiscard]] Layout layout() const { return layout_of(screen_->width(), screen_->height()); }
  [[nodiscard]] bool is_live() const { return history_.now() == nullptr || history_.now()->is_live; }

  const TopSettings& settings_;
  bool is_utf8_;
  std::unique_ptr<Observer> observer_;
  std::unique_ptr<Screen> screen_;
  History history_;
  NameBook names_;
  std::unordered_set<uint64_t> asked_;  // stacks whose names are requested
  State state_;
  Table table_;
  Places places_;
  std::optional<StackPage> page_;
  std::string message_;
  bool is_trouble_ = false;
  bool has_ended_ = false;
  bool is_over_ = false;
  bool waits_for_sample_ = false;
  uint32_t pid_;
  uint32_t image_;  // of its programs; 0: the last one
  uint64_t samples_ = 0;
  Clock::time_point next_sample_ = Clock::now();
  Ending ending_;
};

void Session::make_table_again() {
  table_ = make_table(history_, names_, state_);
  state_ = settled(std::move(state_), table_, layout().page_rows());
}

void Session::show() {
  make_table_again();
  const Layout here = layout();
  const StackPage* const page = page_ && page_->id == state_.opened ? &*page_ : nullptr;
  const Picture picture = make_picture({.history = history_,
                                        .names = names_,
                                        .table = table_,
                                        .state = state_,
                                        .page = page,
                                        .message = message_,
                                        .is_trouble = is_trouble_,
                                        .has_ended = has_ended_},
                                       here);
  if (state_.mode == Mode::kStack || state_.mode == Mode::kHelp) state_.scrolled = picture.first_line;
  Drawn drawn = draw(picture, here, !is_utf8_);
  places_ = std::move(drawn.places);
  screen_->show(drawn.grid);
  ask_names();
}

// Waits for a key, a signal, an answer, or the time of the next sample.
void Session::wait() {
  std::array<pollfd, 3> waits{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                               {.fd = screen_->signal_descriptor(), .events = POLLIN, .revents = 0},
                               {.fd = observer_->descriptor(), .events = POLLIN, .revents = 0}}};
  int timeout_ms = -1;
  if (!waits_for_sample_ && is_live() && !has_ended_) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(next_sample_ - Clock::now()).count();
    timeout_ms = static_cast<int>(std::clamp<int64_t>(rest, 0, 60'000));
  }
  const int ready = poll(waits.data(), waits.size(), timeout_ms);
  // A closed terminal has no more keys.
  const auto gone = static_cast<short>(POLLHUP | POLLERR | POLLNVAL);
  if (ready > 0 && (waits[0].revents & gone) != 0) is_over_ = true;
}

void Session::take_answers() {
  for (Answer& answer : observer_->take()) take(answer);
}

void Session::take(Answer& answer) {
  const bool ends_scan = answer.kind == Question::Kind::kScan;  // that was announced
  if (!answer.message.empty() || ends_scan) {
    message_ = std::move(answer.message);
    is_trouble_ = answer.is_trouble;
  }
  has_ended_ = has_ended_ || answer.has_ended;
  const bool is_sample = answer.kind == Question::Kind::kSample;
  if (is_sample) {
    waits_for_sample_ = false;
    next_sample_ = Clock::now() + std::chrono::nanoseconds(settings_.delay_ns);
  }
  const client::Process* const shown = history_.now() != nullptr ? &history_.now()->process : nullptr;
  const bool switches = answer.kind == Question::Kind::kNextProcess || answer.kind == Question::Kind::kNextImage;
  const bool is_of_before = answer.asked_image != image_ || (shown != nullptr && answer.pid != shown->pid);
  if (answer.sample && is_of_before && !switches) return;  // of the picture before a key changed that
  // A process that executes another program has other stacks from then on.
  const bool is_other = answer.sample && shown != nullptr && (answer.pid != shown->pid || answer.image != shown->image);
  if (is_other) {
    history_ = History();
    names_.clear();
    asked_.clear();
    state_.followed = state_.cursor = state_.first = 0;
    if (switches) message_.clear();
  }
  if (answer.sample && (!state_.frozen || is_other)) {
    pid_ = answer.pid;
    if (switches) image_ = answer.asked_image;
    names_.add(answer.sample->named);
    history_.add(std::move(answer.sample));
    ++samples_;
  }
  if (!answer.mark.empty()) history_.set_base(answer.mark);
  const bool is_shown = history_.now() != nullptr && answer.pid == history_.now()->process.pid &&
                        (answer.image == 0 || answer.image == history_.now()->process.image);
  if (is_shown && answer.leaks) history_.add_leaks(*std::move(answer.leaks));
  if (is_shown) names_.add(answer.names);
  if (is_shown && answer.page) page_ = std::move(answer.page);
  if (is_sample && settings_.count != 0 && samples_ >= settings_.count) is_over_ = true;
}

void Session::press_key(const Key& key) {
  const size_t page = layout().page_rows();
  Step step = press(state_, key,
                    {.table = table_, .places = places_, .page_rows = page, .has_leaks = history_.leaks().has_value()});
  state_ = std::move(step.state);
  message_.clear();
  is_trouble_ = false;
  switch (step.wish.kind) {
    case Wish::Kind::kNothing:
      break;
    case Wish::Kind::kQuit:
      is_over_ = true;
      break;
    case Wish::Kind::kMark:
      if (!tell_over()) ask_mark(step.wish.text);
      break;
    case Wish::Kind::kScan:
      if (tell_over()) break;
      message_ = "scanning for leaks…";
      ask(Question::Kind::kScan);
      break;
    case Wish::Kind::kOpen:
      page_.reset();
      ask_stack(step.wish.id);
      break;
    case Wish::Kind::kNextProcess:
      ask(Question::Kind::kNextProcess);
      break;
    case Wish::Kind::kNextImage:
      ask(Question::Kind::kNextImage);
      break;
    case Wish::Kind::kRows:
      next_sample_ = Clock::now();
      break;
  }
}

// Whether the picture is of a program that the process has left, which can't be controlled.
bool Session::tell_over() {
  if (image_ == 0) return false;
  message_ = "this program has ended: i shows the next one of the process";
  return true;
}

void Session::ask(Question::Kind kind) {
  Question question;
  question.kind = kind;
  ask(std::move(question));
}

void Session::ask(Question question) {
  question.request.pid = pid_;
  // Of what is in sight, but a sample of what is wanted, and what steers of the process.
  const bool is_of_shown = question.kind != Question::Kind::kSample && question.kind != Question::Kind::kMark &&
                           question.kind != Question::Kind::kScan;
  question.request.image = is_of_shown && history_.now() != nullptr ? history_.now()->process.image : image_;
  question.request.threads = state_.grouping == Grouping::kThreads;
  observer_->ask(std::move(question));
}

void Session::ask_sample(size_t first_names) {
  waits_for_sample_ = true;
  Question question;
  question.request.first_names = first_names;
  ask(std::move(question));
}

void Session::ask_mark(const std::string& name) {
  Question question;
  question.kind = Question::Kind::kMark;
  question.mark = name;
  ask(std::move(question));
}

void Session::ask_stack(uint64_t id) {
  Question question;
  question.kind = Question::Kind::kStack;
  question.stack = id;
  question.width = std::max<size_t>(screen_->width(), 40) - 3;
  ask(std::move(question));
}

// Of the visible rows, and those that a filter or the sums of modules need; each once.
void Session::ask_names() {
  if (history_.now() == nullptr || state_.grouping == Grouping::kThreads || observer_->is_busy()) return;
  if (asked_.size() > kMaxAsked) asked_.clear();
  std::vector<uint64_t> ids;
  const auto add = [&](uint64_t id) {
    if (id != kLibrariesKey && names_.find(id) == nullptr && asked_.insert(id).second) ids.push_back(id);
  };
  if (state_.grouping == Grouping::kStacks) {
    // Including the next page.
    const size_t end = std::min(table_.order.size(), state_.first + 2 * layout().page_rows());
    for (size_t i = state_.first; i < end; ++i) add(table_.order[i].key);
  }
  for (const uint64_t id : table_.names_next) add(id);
  if (ids.empty()) return;
  Question question;
  question.kind = Question::Kind::kNames;
  question.request.names = std::move(ids);
  ask(std::move(question));
}

void Session::ask_what_is_due() {
  const bool is_due = is_live() && !has_ended_ && !waits_for_sample_ && Clock::now() >= next_sample_;
  if (is_due && !is_over_) ask_sample(0);
}

// The terminal is restored first: an answer may take a while.
Ending Session::leave() {
  if (history_.now() == nullptr && is_trouble_) ending_.trouble = message_;
  screen_.reset();
  observer_.reset();
  return std::move(ending_);
}

}  // namespace

bool can_have_screen() {
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || *terminal == '\0' || std::string_view(terminal) == "dumb";
  return !is_dumb && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

base::Result<Ending> run_on_screen(std::unique_ptr<client::Recording> recording, const TopSettings& settings) {
  auto observer = Observer::create(std::move(recording), settings.names_from);
  if (!observer) return std::unexpected(std::move(observer).error());
  (void)locale_is_utf8();  // ncurses uses the locale from its start on
  auto screen = Screen::open(settings.color);
  if (!screen) return std::unexpected(std::move(screen).error());
  Session session(*std::move(observer), *std::move(screen), settings);
  return session.run();
}

}  // namespace heaptap::top
