#include "apps/heaptap/commands/interruption.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <string_view>

#include "analysis/symbols/stop_transfer.h"

namespace heaptap::app::interruption {
namespace {

// File to remove, read by the signal handler. The path is written before `used` is set.
struct File {
  std::atomic<bool> taken = false;
  std::atomic<bool> used = false;
  std::array<char, PATH_MAX> path{};
};
constexpr size_t kMaxFiles = 4;
std::array<File, kMaxFiles> files;
std::atomic<bool> line_shown = false;
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

// Only async-signal-safe calls.
void on_signal(int number) {
  if (symbols::stop_transfer(number)) return;  // raises the signal again
  constexpr std::string_view kWipe = "\r\x1b[K";
  if (line_shown) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWipe.data(), kWipe.size());
  }
  for (const File& file : files) {
    if (file.used) (void)unlink(file.path.data());
  }
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

}  // namespace

void clean_up_first() {
  for (const int number : kSignals) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;  // as with nohup
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    (void)sigaction(number, &action, nullptr);
  }
}

size_t remember_file(const std::string& path) {
  for (size_t place = 0; place < files.size(); ++place) {
    File& file = files[place];
    if (path.size() >= file.path.size() || file.taken.exchange(true)) continue;
    std::memcpy(file.path.data(), path.c_str(), path.size() + 1);
    file.used = true;
    return place;
  }
  return kNoPlace;
}

void forget_file(size_t place) {
  if (place == kNoPlace) return;
  files[place].used = false;
  files[place].taken = false;
}

void set_line_shown(bool shown) { line_shown = shown; }

}  // namespace heaptap::app::interruption
