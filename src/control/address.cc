#include "control/address.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/small_file.h"
#include "base/socket_peer.h"
#include "base/whole_number.h"

namespace heaptap::control {
namespace {

constexpr std::string_view kProcessName = "heaptap.recording.";
constexpr char kBeforeMachine = '@';
constexpr int kBacklog = 64;

// Nobody else may put something there.
bool is_own_folder(const std::string& path) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

base::Result<std::string> make_folder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> candidates;
  if (runtime != nullptr && runtime[0] == '/' && is_own_folder(runtime)) {
    candidates.push_back(fmt::format("{}/heaptap", runtime));
  }
  candidates.push_back(fmt::format("/tmp/heaptap-{}", geteuid()));
  for (const std::string& path : candidates) {
    const bool made = mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
    if (made && is_own_folder(path)) return path;
  }
  return base::fail("can't make a folder for sockets at {}: another user's is there, or nothing can be written",
                    candidates.back());
}

base::UniqueFd make_socket() { return base::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool listen_at(int descriptor, const Address& address) {
  return bind(descriptor, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0 &&
         listen(descriptor, kBacklog) == 0;
}

}  // namespace

std::string to_text(const ProcessName& process) {
  return process.machine.empty() ? fmt::format("process {}", process.pid)
                                 : fmt::format("process {} of {}", process.pid, process.machine);
}

std::optional<Address> address_of_process(const ProcessName& process) {
  Address address;
  std::string name = fmt::format("{}{}", kProcessName, process.pid);
  if (!process.machine.empty()) name += kBeforeMachine + process.machine;
  if (name.size() >= sizeof(address.name.sun_path)) return std::nullopt;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path + 1, name.data(), name.size());  // a leading NUL: the abstract namespace
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::optional<Address> address_of_file(const std::string& path) {
  Address address;
  if (path.empty() || path.size() >= sizeof(address.name.sun_path)) return std::nullopt;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, path.data(), path.size());
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

bool may_ask(int connection) { return base::is_own_user_or_root(base::user_of_peer(connection)); }

bool is_believed(int connection) { return may_ask(connection) || (geteuid() == 0 && base::user_of_peer(connection)); }

base::UniqueFd listen_for_process(const ProcessName& process) {
  const auto address = address_of_process(process);
  base::UniqueFd socket = address ? make_socket() : base::UniqueFd();
  if (socket && !listen_at(socket.get(), *address)) socket.reset();
  return socket;
}

base::Result<SocketFile> SocketFile::create(pid_t collector) {
  const auto folder = make_folder();
  if (!folder) return std::unexpected(folder.error());
  std::string path = fmt::format("{}/{}.sock", *folder, collector);
  const auto address = address_of_file(path);
  if (!address) return base::fail("{} is too long for the name of a socket", path);
  base::UniqueFd socket = make_socket();
  // One of that number that was killed has left it behind.
  unlink(path.c_str());
  if (!socket || !listen_at(socket.get(), *address)) {
    return base::fail("can't make the socket {}: {}", path, base::reason_of(errno));
  }
  SocketFile file(std::move(path), std::move(socket));
  if (chmod(file.path().c_str(), S_IRUSR | S_IWUSR) != 0) {
    return base::fail("can't protect the socket {}: {}", file.path(), base::reason_of(errno));
  }
  return file;
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), socket_(std::move(other.socket_)) {}

SocketFile::~SocketFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

bool is_reachable(const ProcessName& process) {
  const base::UniqueFd connection = make_socket();
  const auto address = address_of_process(process);
  return connection && address &&
         connect(connection.get(), reinterpret_cast<const sockaddr*>(&address->name), address->bytes) == 0 &&
         (geteuid() == 0 || base::user_of_peer(connection.get()) == geteuid());
}

// proc(5), /proc/net/unix: a line ends in the name, of which an abstract one begins with an @.
std::vector<ProcessName> processes_with_socket() {
  std::vector<ProcessName> found;
  const std::string begin = " @" + std::string(kProcessName);
  for (const std::string& line : base::split(base::read_small_file("/proc/net/unix"), '\n')) {
    const size_t at = line.find(begin);
    if (at == std::string::npos) continue;
    const std::string_view name = std::string_view(line).substr(at + begin.size());
    const std::string_view number = name.substr(0, name.find(kBeforeMachine));
    const auto pid = base::whole_number<pid_t>(number);
    if (!pid || *pid <= 0) continue;
    found.emplace_back(*pid, number.size() < name.size() ? std::string(name.substr(number.size() + 1)) : std::string());
  }
  // Each connection has a line, too.
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace heaptap::control
