#include "capture/uplink/local_client.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "capture/uplink/local_console.h"
#include "common/base/socket_peer.h"
#include "common/base/unique_fd.h"
#include "common/endpoint/address.h"
#include "common/endpoint/own_directory.h"

namespace heaptap::uplink {
namespace {

constexpr int kLongestAnswerMs = 5000;
constexpr size_t kMaxAnswerText = size_t{1} << 20;

// Sockets of this user's recordings; some may be left from killed ones.
std::vector<std::string> console_sockets() {
  std::vector<std::string> paths;
  for (const std::string& directory : endpoint::own_directories()) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
    while (const dirent* const entry = open ? readdir(open.get()) : nullptr) {
      const std::string_view name = entry->d_name;
      if (name.starts_with(LocalConsole::kPrefix) && name.ends_with(LocalConsole::kSuffix)) {
        paths.push_back(directory + "/" + std::string(name));
      }
    }
  }
  return paths;
}

// None: no listener, or not a trusted one.
std::optional<std::string> ask_at(const std::string& path, const std::string& question) {
  const auto address = endpoint::address_of_file(path);
  const base::UniqueFd socket = endpoint::make_socket();
  if (!address || !socket || !endpoint::connect_to(socket.get(), *address)) return std::nullopt;
  if (!base::is_own_user_or_root(base::user_of_peer(socket.get()))) return std::nullopt;
  const std::string line = question + "\n";
  if (send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return std::nullopt;
  std::string answer;
  pollfd wait{socket.get(), POLLIN, 0};
  while (answer.size() < kMaxAnswerText && poll(&wait, 1, kLongestAnswerMs) > 0) {
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) return answer;
    if (got < 0 && errno != EAGAIN) return std::nullopt;
    if (got > 0) answer.append(bytes.data(), static_cast<size_t>(got));
  }
  return std::string(LocalConsole::kError) + "no answer\n";
}

}  // namespace

std::vector<std::string> ask_local_consoles(const std::string& question) {
  std::vector<std::string> answers;
  for (const std::string& path : console_sockets()) {
    if (auto answer = ask_at(path, question)) answers.push_back(*std::move(answer));
  }
  return answers;
}

}  // namespace heaptap::uplink
