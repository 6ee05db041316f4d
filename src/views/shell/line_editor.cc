#include "views/shell/line_editor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <histedit.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>
#include <utility>

#include "common/base/unique_fd.h"

namespace heaptap::shell {
namespace {

constexpr int kMaxHistory = 1000;
constexpr wchar_t kControlC = 3;

// Signals handled while a line is typed; and those that came.
constexpr std::array kSignals{SIGINT, SIGTSTP, SIGCONT, SIGWINCH, SIGTERM, SIGHUP, SIGQUIT};
std::array<std::atomic<bool>, NSIG> g_came{};

void note_signal(int number) { g_came[static_cast<size_t>(number)] = true; }
bool take_signal(int number) { return g_came[static_cast<size_t>(number)].exchange(false); }

// Scope in which signals are delivered only under `open_mask`, and recorded.
class WatchedSignals {
 public:
  WatchedSignals() {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : kSignals) sigaddset(&blocked, number);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      take_signal(kSignals[i]);
      watch(kSignals[i], &before_[i]);
    }
  }
  WatchedSignals(const WatchedSignals&) = delete;
  WatchedSignals& operator=(const WatchedSignals&) = delete;
  ~WatchedSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &before_[i], nullptr);
    (void)pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  [[nodiscard]] const sigset_t& open_mask() const { return mask_before_; }

  // With the signal's default action.
  static void stop_process() {
    (void)std::signal(SIGTSTP, SIG_DFL);
    (void)raise(SIGTSTP);
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    (void)pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // stops here, until it is continued
    (void)pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    watch(SIGTSTP, nullptr);
  }

 private:
  static void watch(int number, struct sigaction* before) {
    struct sigaction old{};
    (void)sigaction(number, nullptr, &old);
    if (before != nullptr) *before = old;
    if (old.sa_handler == SIG_IGN && number != SIGINT) return;  // as with nohup
    struct sigaction action{};
    action.sa_handler = note_signal;
    (void)sigaction(number, &action, nullptr);
  }

  sigset_t mask_before_{};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// Keys, read without blocking: input that poll() reported may be gone, since Ctrl-C drops what was typed before it. A
// separate file description, since that of stdin is shared. If the terminal can't be opened, as after su(1), it is
// stdin.
base::UniqueFd open_keys() {
  base::UniqueFd own(open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return own ? std::move(own) : base::UniqueFd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
}

size_t columns_of_terminal() {
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  constexpr size_t kUsual = 80;
  return is_known ? size.ws_col : kUsual;
}

size_t width_of(const wchar_t* begin, const wchar_t* end) {
  size_t width = 0;
  for (const wchar_t* at = begin; at != end; ++at) width += static_cast<size_t>(std::max(wcwidth(*at), 1));
  return width;
}

std::string common_beginning(const Words& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    const auto differs = std::ranges::mismatch(common, word);
    common.erase(differs.in1, common.end());
  }
  // Not within a character.
  while (!common.empty() && words.front().size() > common.size() &&
         (static_cast<unsigned char>(words.front()[common.size()]) & 0xc0) == 0x80) {
    common.pop_back();
  }
  return common;
}

std::string in_columns(const Words& words, size_t columns) {
  constexpr size_t kGap = 2;
  constexpr size_t kMaxRows = 100;
  size_t width = 0;
  for (const std::string& word : words) width = std::max(width, word.size() + kGap);
  const size_t across = std::max<size_t>(1, columns / width);
  const size_t rows = (words.size() + across - 1) / across;
  std::string text;
  for (size_t row = 0; row < std::min(rows, kMaxRows); ++row) {
    std::string line;
    for (size_t at = row; at < words.size(); at += rows) line += fmt::format("{:<{}}", words[at], width);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return rows > kMaxRows ? text + "...\n" : text;
}

}  // namespace

struct LineEditor::Terminal {
  explicit Terminal(Callbacks around) : callbacks(std::move(around)) {
    (void)std::setlocale(LC_CTYPE, "");
    const char* const kind = std::getenv("TERM");
    if (kind == nullptr || *kind == '\0') (void)setenv("TERM", "dumb", 1);
    is_dumb = std::string_view(std::getenv("TERM")) == "dumb";
    edit = el_init("heaptap", stdin, stdout, stderr);
    history = history_init();
    if (edit == nullptr || history == nullptr) return;
    HistEvent event{};
    ::history(history, &event, H_SETSIZE, kMaxHistory);
    ::history(history, &event, H_SETUNIQUE, 1);
    el_set(edit, EL_CLIENTDATA, this);
    el_set(edit, EL_SIGNAL, 0);
    el_set(edit, EL_EDITOR, "emacs");
    el_set(edit, EL_HIST, ::history, history);
    el_set(edit, EL_PROMPT, prompt_of);
    el_set(edit, EL_ADDFN, "heaptap-complete", "Complete the word", complete_word);
    el_set(edit, EL_ADDFN, "heaptap-interrupt", "Clear the line", clear_line);
    el_set(edit, EL_BIND, "^I", "heaptap-complete", nullptr);
    el_set(edit, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    (void)el_source(edit, nullptr);
    el_set(edit, EL_BIND, "^C", "heaptap-interrupt", nullptr);
    el_set(edit, EL_GETCFN, next_character);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (history != nullptr) history_end(history);
    if (edit != nullptr) el_end(edit);
  }

  static Terminal& of(EditLine* edit) {
    void* data = nullptr;
    el_get(edit, EL_CLIENTDATA, &data);
    return *static_cast<Terminal*>(data);
  }

  static char* prompt_of(EditLine* edit) { return of(edit).prompt.data(); }

  // libedit ends a line without the newline that a terminal needs.
  static unsigned char clear_line(EditLine* edit, int /*character*/) {
    Terminal& terminal = of(edit);
    terminal.was_cleared = true;
    terminal.go_below();
    return CC_NEWLINE;
  }

  static unsigned char complete_word(EditLine* edit, int /*character*/) { return of(edit).complete(); }

  static int next_character(EditLine* edit, wchar_t* character) { return of(edit).wait(*character); }

  [[nodiscard]] std::string before_cursor() const {
    const LineInfo* const line = el_line(edit);
    return {line->buffer, line->cursor};
  }

  unsigned char complete() {
    const std::string before = before_cursor();
    Completion found = callbacks.complete(before);
    if (found.words.empty()) return CC_REFRESH_BEEP;
    const bool is_one = found.words.size() == 1;
    const std::string common = common_beginning(found.words);
    std::string typed = typed_word(common, found.line.quote);
    const bool is_whole = is_one && !common.ends_with('/') && !common.ends_with('=');
    if (is_whole && found.line.quote != 0) typed += found.line.quote;
    if (is_whole) typed += ' ';
    const std::string now = before.substr(found.line.begin);
    if (typed == now || (!is_one && common == found.line.word)) {
      if (is_one) return CC_NORM;
      print_above(in_columns(found.words, columns_of_terminal()), /*keeps_line=*/true);
      return CC_NORM;
    }
    std::wstring wide(now.size() + 1, L'\0');
    const size_t count = std::mbstowcs(wide.data(), now.c_str(), wide.size());
    el_deletestr(edit, static_cast<int>(count == static_cast<size_t>(-1) ? now.size() : count));
    if (el_insertstr(edit, typed.c_str()) != 0) return CC_REFRESH_BEEP;
    return CC_REFRESH;
  }

  // Rows of the terminal from the start of the prompt to the cursor, and to the end of the line.
  [[nodiscard]] size_t row_of_cursor() const {
    const LineInfoW* const line = el_wline(edit);
    return (prompt.size() + width_of(line->buffer, line->cursor)) / columns_of_terminal();
  }
  [[nodiscard]] size_t row_of_end() const {
    const LineInfoW* const line = el_wline(edit);
    return (prompt.size() + width_of(line->buffer, line->lastchar)) / columns_of_terminal();
  }

  void go_below() {
    std::fputs(std::string(row_of_end() - row_of_cursor() + 1, '\n').c_str(), stdout);
    std::fputc('\r', stdout);
    (void)std::fflush(stdout);
  }

  // `keeps_line`: leave the text typed so far on the screen.
  void print_above(const std::string& text, bool keeps_line) {
    if (keeps_line || is_dumb) {
      go_below();
    } else {
      if (const size_t up = row_of_cursor(); up != 0) fmt::print(stdout, "\x1b[{}A", up);
      std::fputs("\r\x1b[J", stdout);
    }
    std::fputs(text.c_str(), stdout);
    (void)std::fflush(stdout);
    el_wset(edit, EL_REFRESH);
  }

  void tell_news() {
    if (const std::string text = callbacks.news.taken(); !text.empty()) print_above(text, /*keeps_line=*/false);
  }

  // Handles the signals that came. True: the line ends by one, with the character.
  bool answer_signals(wchar_t& character) {
    for (const int number : {SIGTERM, SIGHUP, SIGQUIT}) {
      if (!take_signal(number)) continue;
      ended_by = number;
      return true;
    }
    if (take_signal(SIGTSTP)) {
      el_set(edit, EL_PREP_TERM, 0);
      WatchedSignals::stop_process();
      note_signal(SIGCONT);
    }
    if (take_signal(SIGCONT)) {
      el_set(edit, EL_PREP_TERM, 1);
      std::fputs(is_dumb ? "\n" : "\r\x1b[K", stdout);
      el_wset(edit, EL_REFRESH);
    }
    if (take_signal(SIGWINCH)) el_resize(edit);
    if (!take_signal(SIGINT)) return false;
    character = kControlC;
    return true;
  }

  // For libedit: 1, a character; 0: end of input; -1: reading failed.
  int wait(wchar_t& character) {
    std::mbstate_t state{};
    while (true) {
      if (answer_signals(character)) return ended_by != 0 ? 0 : 1;
      std::array<pollfd, 2> waits{pollfd{.fd = keys.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = callbacks.news.wait_for(), .events = POLLIN, .revents = 0}};
      if (ppoll(waits.data(), waits.size(), nullptr, &signals->open_mask()) < 0) continue;  // a signal
      if (waits[1].revents != 0) tell_news();
      if (waits[0].revents == 0) continue;
      char byte = 0;
      const ssize_t count = ::read(keys.get(), &byte, 1);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) return 0;
      const size_t length = std::mbrtowc(&character, &byte, 1, &state);
      if (length == static_cast<size_t>(-2)) continue;  // a part of one
      if (length == static_cast<size_t>(-1)) {
        state = {};
        character = L'?';
      }
      return 1;
    }
  }

  Callbacks callbacks;
  const base::UniqueFd keys = open_keys();
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::string prompt;
  const WatchedSignals* signals = nullptr;  // while a line is read
  bool was_cleared = false;
  bool is_dumb = false;
  int ended_by = 0;  // a signal
};

LineEditor::LineEditor(Callbacks callbacks) : terminal_(std::make_unique<Terminal>(std::move(callbacks))) {}
LineEditor::~LineEditor() = default;

void LineEditor::remember(const std::string& line) {
  HistEvent event{};
  if (terminal_->history != nullptr) ::history(terminal_->history, &event, H_ENTER, line.c_str());
}

LineEditor::Outcome LineEditor::read(std::string& line) {
  Terminal& terminal = *terminal_;
  if (terminal.edit == nullptr) return Outcome::kEnd;
  if (const std::string text = terminal.callbacks.news.taken(); !text.empty()) {
    std::fputs(text.c_str(), stdout);
  }
  (void)std::fflush(stdout);
  terminal.prompt = terminal.callbacks.prompt();
  terminal.was_cleared = false;
  const char* typed = nullptr;
  int count = 0;
  {
    const WatchedSignals signals;
    terminal.signals = &signals;
    el_resize(terminal.edit);
    // libedit does it when it waits for a key: text typed as soon as the prompt is seen would become a separate line.
    el_set(terminal.edit, EL_PREP_TERM, 1);
    typed = el_gets(terminal.edit, &count);
    if (typed != nullptr && count > 0) line.assign(typed, static_cast<size_t>(count));
  }
  if (terminal.ended_by != 0) {
    (void)raise(terminal.ended_by);
    return Outcome::kEnd;
  }
  if (terminal.was_cleared) return Outcome::kInterrupted;
  if (typed == nullptr || count <= 0) return Outcome::kEnd;
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return Outcome::kLine;
}

}  // namespace heaptap::shell
