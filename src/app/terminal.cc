#include "app/terminal.h"

#include <fcntl.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace heaptap::app {
namespace {

constexpr int64_t kQuietMs = 500;
constexpr int64_t kRefreshMs = 100;

int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
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

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1), next_at_ms_(now_ms() + kQuietMs) {}

ProgressLine::~ProgressLine() {
  if (shown_) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

void ProgressLine::update(uint64_t done, uint64_t total) {
  if (!terminal_ || total == 0 || now_ms() < next_at_ms_) {
    return;
  }
  next_at_ms_ = now_ms() + kRefreshMs;
  constexpr size_t kWidth = 40;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<size_t>(share * static_cast<double>(kWidth));
  fmt::print(stderr, "\rheaptap: reading [{:<{}}] {:3.0f}%", std::string(filled, '#'), kWidth, share * 100);
  std::fflush(stderr);
  shown_ = true;
}

void print_error(const std::string& text) { std::fputs(text.c_str(), stderr); }

base::Result<> print_output(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return base::fail("can't write the report to the standard output: {}", base::reason_of(errno));
  }
  return {};
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
