#include "views/shell/script_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace heaptap::shell {
namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 20;

}  // namespace

base::Result<std::optional<std::string>> ScriptReader::next(const std::function<int()>& other,
                                                            const std::function<void()>& on_other) {
  while (true) {
    if (auto line = take_line()) return line;
    if (is_end_) return std::nullopt;
    std::array<pollfd, 2> waits{pollfd{.fd = descriptor_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = other ? other() : -1, .events = POLLIN, .revents = 0}};
    if (poll(waits.data(), waits.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return base::fail("can't wait for commands: {}", base::reason_of(errno));
    }
    if (waits[1].revents != 0) on_other();
    if (waits[0].revents != 0) HEAPTAP_TRY(fill());
  }
}

std::optional<std::string> ScriptReader::take_line() {
  const size_t end = kept_.find('\n');
  if (end == kept_.npos && (!is_end_ || kept_.empty())) return std::nullopt;
  std::string line = kept_.substr(0, end);
  kept_.erase(0, end == kept_.npos ? end : end + 1);
  return line;
}

base::Result<> ScriptReader::fill() {
  std::array<char, 4096> piece{};
  const ssize_t count = read(descriptor_, piece.data(), piece.size());
  if (count < 0 && errno != EINTR) return base::fail("can't read commands: {}", base::reason_of(errno));
  if (count == 0) is_end_ = true;
  if (count > 0) kept_.append(piece.data(), static_cast<size_t>(count));
  if (kept_.size() > kMaxLineBytes && kept_.find('\n') == kept_.npos) {
    return base::fail("a command is longer than {} bytes", kMaxLineBytes);
  }
  return {};
}

}  // namespace heaptap::shell
