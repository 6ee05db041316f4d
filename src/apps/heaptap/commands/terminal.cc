#include "apps/heaptap/commands/terminal.h"

#include <fcntl.h>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "analysis/findings/function_name.h"
#include "apps/heaptap/commands/interruption.h"
#include "common/base/exit_status.h"
#include "common/base/safe_text.h"
#include "common/base/unique_fd.h"
#include "common/base/units.h"

namespace heaptap::app {
namespace {

constexpr std::chrono::milliseconds kQuietTime{500};
constexpr std::chrono::milliseconds kRefreshTime{100};

std::string g_error_file;  // empty: stderr

// Never through a link, and never a file that another user may have created.
bool append_to_own_file(const std::string& path, std::string_view text) {
  const base::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644));
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
      facts.st_nlink != 1) {
    return false;
  }
  return write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

bool use_color(ColorMode mode, int file_descriptor) {
  if (mode != ColorMode::kAuto) {
    return mode == ColorMode::kAlways;
  }
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool unwanted = no_color != nullptr && *no_color != '\0';
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return !unwanted && !dumb && isatty(file_descriptor) == 1;
}

size_t terminal_width(int file_descriptor) {
  constexpr size_t kUsual = 80;
  constexpr size_t kLeast = 40;
  winsize size{};
  size_t width = 0;
  if (isatty(file_descriptor) == 1 && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (const char* const columns = std::getenv("COLUMNS"); columns != nullptr && width == 0) {
    const std::string_view text(columns);
    (void)std::from_chars(text.data(), text.data() + text.size(), width);
  }
  return width == 0 ? kUsual : std::max(width, kLeast);
}

size_t fold_width(int file_descriptor) {
  const char* const columns = std::getenv("COLUMNS");
  const bool is_said = columns != nullptr && *columns != '\0';
  return is_said || isatty(file_descriptor) == 1 ? terminal_width(file_descriptor) : 0;
}

ProgressLine::ProgressLine() {
  if (isatty(STDERR_FILENO) != 1) return;
  painter_ = std::jthread([this](const std::stop_token& stop) { show_now_and_then(stop); });
}

ProgressLine::~ProgressLine() {
  if (!painter_.joinable()) return;
  painter_.request_stop();
  painter_.join();
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  interruption::set_line_shown(false);
}

void ProgressLine::update(uint64_t done, uint64_t total) {
  if (!painter_.joinable() || total == 0) return;
  const std::scoped_lock lock(mutex_);
  phase_ = Phase::kReading;
  done_ = done;
  total_ = total;
}

void ProgressLine::tell(const symbols::SymbolWork& work) {
  using Kind = symbols::SymbolWork::Kind;
  if (!painter_.joinable()) return;
  const std::scoped_lock lock(mutex_);
  phase_ = work.kind == Kind::kOpening       ? Phase::kOpening
           : work.kind == Kind::kDownloading ? Phase::kDownloading
                                             : Phase::kNone;
  if (!work.path.empty()) module_ = work.path.substr(work.path.rfind('/') + 1);
  done_ = work.done;
  total_ = work.total;
}

void ProgressLine::fetching(const std::string& path, uint64_t done, uint64_t total) {
  if (!painter_.joinable()) return;
  const std::scoped_lock lock(mutex_);
  phase_ = Phase::kFetching;
  module_ = path.substr(path.rfind('/') + 1);
  done_ = done;
  total_ = total;
}

void ProgressLine::follow(query::Query& query) {
  query.progress = [this](uint64_t done, uint64_t total) { update(done, total); };
  query.symbols.progress = [this](const symbols::SymbolWork& work) { tell(work); };
}

std::string ProgressLine::text() const {
  constexpr size_t kWidth = 40;
  const double share = total_ == 0 ? 0 : std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  const auto filled = static_cast<size_t>(share * static_cast<double>(kWidth));
  const std::string of_total = total_ == 0 ? "" : " of " + base::format_bytes(total_);
  switch (phase_) {
    case Phase::kReading:
      return fmt::format("reading [{:<{}}] {:3.0f}%", std::string(filled, '#'), kWidth, share * 100);
    case Phase::kOpening:
      return "reading symbols of " + base::safe_text(module_.substr(0, kWidth));
    case Phase::kDownloading:
      return fmt::format("downloading symbols of {}: {}{}", base::safe_text(module_.substr(0, kWidth)),
                         base::format_bytes(done_), of_total);
    case Phase::kFetching:
      return fmt::format("fetching {}: {}{}; Ctrl-C skips it", base::safe_text(module_.substr(0, kWidth)),
                         base::format_bytes(done_), of_total);
    case Phase::kNone:
      break;
  }
  return "analysing";
}

void ProgressLine::show_now_and_then(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  auto wait = kQuietTime;
  while (!changed_.wait_for(lock, stop, wait, [&stop] { return stop.stop_requested(); })) {
    wait = kRefreshTime;
    const std::string line = findings::cut_middle("heaptap: " + text(), terminal_width(STDERR_FILENO) - 1);
    interruption::set_line_shown(true);
    fmt::print(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
    shown_ = true;
  }
}

void print_error(const std::string& text) {
  if (g_error_file.empty()) {
    std::fputs(text.c_str(), stderr);
  } else if (!append_to_own_file(g_error_file, text)) {
    ::syslog(LOG_DAEMON | LOG_WARNING, "%s", text.c_str());
  }
}

int complain(const base::Error& error) {
  print_error(fmt::format("heaptap: {}\n", error.message));
  return base::exit_status_of(error.kind);
}

void print_errors_to(std::string file) { g_error_file = std::move(file); }

base::Result<> write_output(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size()) return {};
  return base::fail("can't write the report to the standard output: {}", base::reason_of(errno));
}

base::Result<> flush_output() {
  if (std::fflush(stdout) == 0) return {};
  return base::fail("can't write the report to the standard output: {}", base::reason_of(errno));
}

base::Result<> print_output(const std::string& text) {
  HEAPTAP_TRY(write_output(text));
  return flush_output();
}

void occupy_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) < 0) {
      // The lowest free number is this one, since those below are open.
      [[maybe_unused]] const int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
  }
}

}  // namespace heaptap::app
