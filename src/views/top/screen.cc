#include "views/top/screen.h"

#include <fcntl.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <utility>

#define NCURSES_NOMACROS 1
#include <ncurses.h>

namespace heaptap::top {
namespace {

// Data for signal handlers. The pipe's writing end; -1: no screen.
volatile sig_atomic_t signal_pipe = -1;
termios terminal_before{};
volatile sig_atomic_t has_terminal_before = 0;

constexpr std::array kCaught{SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

void on_signal(int number) {
  const int reason = errno;
  const auto byte = static_cast<unsigned char>(number);
  if (signal_pipe >= 0) {
    [[maybe_unused]] const ssize_t written = write(signal_pipe, &byte, 1);
  }
  errno = reason;
}

// ncurses can't be called here: normal screen, cursor, plain text, no mouse.
void on_crash(int number) {
  constexpr std::string_view kRestore = "\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l\r\n";
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kRestore.data(), kRestore.size());
  if (has_terminal_before != 0) tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

void install(int number, void (*handler)(int), struct sigaction* before) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, before);
}

// Signal handlers of the screen; the previous ones are restored.
class Signals {
 public:
  explicit Signals(std::array<base::UniqueFd, 2> pipe) : pipe_(std::move(pipe)) {
    signal_pipe = pipe_[1].get();
    for (size_t i = 0; i < kCaught.size(); ++i) install(kCaught[i], on_signal, &before_[i]);
    for (size_t i = 0; i < kCrashes.size(); ++i) install(kCrashes[i], on_crash, &crashes_before_[i]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    for (size_t i = 0; i < kCaught.size(); ++i) sigaction(kCaught[i], &before_[i], nullptr);
    for (size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &crashes_before_[i], nullptr);
    signal_pipe = -1;
  }
  [[nodiscard]] int descriptor() const { return pipe_[0].get(); }

 private:
  std::array<base::UniqueFd, 2> pipe_;
  std::array<struct sigaction, kCaught.size()> before_{};
  std::array<struct sigaction, kCrashes.size()> crashes_before_{};
};

struct Color {
  short pair;
  short foreground;
};
constexpr std::array kColors{Color{1, COLOR_CYAN}, Color{2, COLOR_GREEN}, Color{3, COLOR_YELLOW}, Color{4, COLOR_RED}};

chtype color_of(short pair, bool color) { return color ? COLOR_PAIR(pair) : A_NORMAL; }

chtype attributes_of(Style style, bool color) {
  switch (style) {
    case Style::kPlain:
      return A_NORMAL;
    case Style::kDim:
      return A_DIM;
    case Style::kBold:
      return A_BOLD;
    case Style::kTitle:
    case Style::kSelected:
      return A_REVERSE | A_BOLD;
    case Style::kAccent:
      return color_of(1, color);
    case Style::kGood:
      return color_of(2, color);
    case Style::kWarning:
      return color_of(3, color) | (color ? A_NORMAL : A_BOLD);
    case Style::kBad:
      return color_of(4, color) | A_BOLD;
    case Style::kHead:
      return A_REVERSE;
    case Style::kHeadChosen:
      return A_REVERSE | A_BOLD | color_of(1, color) | (color ? A_NORMAL : A_UNDERLINE);
    case Style::kKey:
      return color_of(1, color) | A_BOLD;
  }
  return A_NORMAL;
}

std::string utf8_of(wint_t character) {
  std::string text;
  const auto code = static_cast<uint32_t>(character);
  const auto more = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    more(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    more(6);
    more(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    more(12);
    more(6);
    more(0);
  }
  return text;
}

std::optional<Key> mouse_key() {
  MEVENT event{};
  if (getmouse(&event) != OK) return {};
  Key key{.x = static_cast<size_t>(event.x), .y = static_cast<size_t>(event.y)};
  if ((event.bstate & BUTTON4_PRESSED) != 0) {
    key.kind = Key::Kind::kWheelUp;
  } else if ((event.bstate & BUTTON5_PRESSED) != 0) {
    key.kind = Key::Kind::kWheelDown;
  } else if ((event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) != 0) {
    key.kind = Key::Kind::kClick;
  } else {
    return {};
  }
  return key;
}

// Continuation of a key that sends more than one character.
std::optional<Key> special_key(wint_t code) {
  switch (code) {
    case KEY_UP:
      return Key{.kind = Key::Kind::kUp};
    case KEY_DOWN:
      return Key{.kind = Key::Kind::kDown};
    case KEY_PPAGE:
      return Key{.kind = Key::Kind::kPageUp};
    case KEY_NPAGE:
      return Key{.kind = Key::Kind::kPageDown};
    case KEY_HOME:
      return Key{.kind = Key::Kind::kHome};
    case KEY_END:
      return Key{.kind = Key::Kind::kEnd};
    case KEY_ENTER:
      return Key{.kind = Key::Kind::kEnter};
    case KEY_BACKSPACE:
    case KEY_DC:
      return Key{.kind = Key::Kind::kBackspace};
    case KEY_MOUSE:
      return mouse_key();
    default:
      return {};
  }
}

std::optional<Key> plain_key(wint_t code) {
  switch (code) {
    case '\r':
    case '\n':
      return Key{.kind = Key::Kind::kEnter};
    case '\t':
      return Key{.kind = Key::Kind::kTab};
    case 0x1b:
      return Key{.kind = Key::Kind::kEscape};
    case 0x7f:
    case 0x08:
      return Key{.kind = Key::Kind::kBackspace};
    default:
      break;
  }
  if (code < 0x20 || code > 0x10ffff) return {};
  return Key{.kind = Key::Kind::kCharacter, .character = utf8_of(code)};
}

}  // namespace

bool locale_is_utf8() {
  (void)std::setlocale(LC_CTYPE, "");
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

// State of ncurses for this terminal.
class Screen::Terminal {
 public:
  Terminal(SCREEN* screen, std::array<base::UniqueFd, 2> pipe, bool color)
      : screen_(screen), color_(color && has_colors()), signals_(std::move(pipe)) {
    prepare();
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    endwin();
    delscreen(screen_);
    has_terminal_before = 0;
  }

  [[nodiscard]] int signals() const { return signals_.descriptor(); }

  void show(const Grid& grid) {
    erase();
    for (size_t y = 0; y < grid.height(); ++y) show_line(grid, y);
    refresh();
  }

  void take_size() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
      resizeterm(size.ws_row, size.ws_col);
    clearok(stdscr, true);
  }

  // The terminal belongs to the shell in between.
  static void stop_and_go_on() {
    def_prog_mode();
    endwin();
    struct sigaction ours{};
    install(SIGTSTP, SIG_DFL, &ours);
    kill(getpid(), SIGTSTP);
    sigaction(SIGTSTP, &ours, nullptr);
    reset_prog_mode();
    clearok(stdscr, true);
    refresh();
  }

 private:
  void prepare() {
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, false);
    keypad(stdscr, true);
    nodelay(stdscr, true);
    typeahead(-1);  // draw the whole picture even if more keys wait: there may be no other one soon
    set_escdelay(25);
    curs_set(0);
    mouseinterval(0);
    // All: after an event that isn't wanted, such as a button's release, ncurses waits for another key.
    mousemask(ALL_MOUSE_EVENTS, nullptr);
    if (!color_) return;
    start_color();
    use_default_colors();
    for (const Color& color : kColors) init_pair(color.pair, color.foreground, -1);
  }

  // A piece ends with its style, and after a wide character, whose width may be different on this terminal.
  void show_line(const Grid& grid, size_t y) {
    for (size_t x = 0; x < grid.width();) {
      const Style style = grid.at(x, y).style;
      const size_t begin = x;
      std::string piece;
      while (x < grid.width() && grid.at(x, y).style == style) {
        const bool was_wide = grid.at(x, y).text.empty();
        piece += grid.at(x++, y).text;
        if (was_wide) break;
      }
      attrset(static_cast<int>(attributes_of(style, color_)));
      mvaddstr(static_cast<int>(y), static_cast<int>(begin), piece.c_str());
    }
    attrset(A_NORMAL);
  }

  SCREEN* screen_;
  bool color_;
  Signals signals_;
};

base::Result<std::unique_ptr<Screen>> Screen::open(bool color) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return base::fail("can't make a pipe: {}", base::reason_of(errno));
  std::array<base::UniqueFd, 2> pipe{base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
  if (tcgetattr(STDIN_FILENO, &terminal_before) == 0) has_terminal_before = 1;
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    has_terminal_before = 0;
    return base::fail("unknown terminal (TERM is '{}'); --once prints one picture",
                      std::getenv("TERM") == nullptr ? "" : std::getenv("TERM"));
  }
  return std::unique_ptr<Screen>(new Screen(std::make_unique<Terminal>(screen, std::move(pipe), color)));
}

Screen::Screen(std::unique_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {}
Screen::~Screen() = default;

size_t Screen::width() const { return static_cast<size_t>(getmaxx(stdscr)); }
size_t Screen::height() const { return static_cast<size_t>(getmaxy(stdscr)); }
void Screen::show(const Grid& grid) { terminal_->show(grid); }
int Screen::signal_descriptor() const { return terminal_->signals(); }

std::optional<Key> Screen::read_key() {
  while (true) {
    wint_t code = 0;
    const int kind = get_wch(&code);
    if (kind == ERR) return {};
    const std::optional<Key> key = kind == KEY_CODE_YES ? special_key(code) : plain_key(code);
    if (key) return key;  // unknown keys are ignored
  }
}

std::optional<int> Screen::handle_signals() {
  unsigned char number = 0;
  while (read(terminal_->signals(), &number, 1) == 1) {
    switch (number) {
      case SIGWINCH:
      case SIGCONT:
        terminal_->take_size();
        break;
      case SIGTSTP:
        Terminal::stop_and_go_on();
        terminal_->take_size();
        break;
      default:
        return number;
    }
  }
  return {};
}

}  // namespace heaptap::top
