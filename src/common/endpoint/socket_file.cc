#include "common/endpoint/socket_file.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include "common/endpoint/address.h"
#include "common/endpoint/own_directory.h"

namespace heaptap::endpoint {
namespace {

// False: it doesn't exist, or was left behind by a process that ended without removing it.
bool is_listened_at(const Address& address) {
  const base::UniqueFd probe = make_socket();
  return !probe || connect_to(probe.get(), address) || (errno != ECONNREFUSED && errno != ENOENT);
}

// Removes sockets of killed recorders. The name of one without a listener yet begins with a dot.
void remove_left_behind(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open) return;
  while (const dirent* const entry =
             readdir(open.get())) {  // NOLINT(concurrency-mt-unsafe): the stream is this thread's
    const std::string_view name = entry->d_name;
    if (name.starts_with('.') || !name.ends_with(".sock")) continue;
    const std::string path = fmt::format("{}/{}", directory, name);
    const auto address = address_of_file(path);
    if (address && !is_listened_at(*address)) unlink(path.c_str());
  }
}

}  // namespace

base::Result<SocketFile> SocketFile::create(pid_t collector) {
  const auto directory = make_own_directory();
  if (!directory) return std::unexpected(directory.error());
  remove_left_behind(*directory);
  return create(*directory, fmt::format("{}.sock", collector));
}

// Under another name until there is a listener: then it is renamed over an old one, in one step, and a process that
// removes old sockets never removes it.
base::Result<SocketFile> SocketFile::create(const std::string& directory, const std::string& name) {
  const std::string path = fmt::format("{}/{}", directory, name);
  const std::string first_path = fmt::format("{}/.{}.{}", directory, name, getpid());
  const auto address = address_of_file(path);
  const auto first_address = address_of_file(first_path);
  if (!address || !first_address) return base::fail("{} is too long for the name of a socket", path);
  if (is_listened_at(*address)) return base::fail("another heaptap listens at {}", path);
  base::UniqueFd socket = make_socket();
  unlink(first_path.c_str());
  if (!socket || !listen_at(socket.get(), *first_address)) {
    return base::fail("can't make the socket {}: {}", path, base::reason_of(errno));
  }
  SocketFile file(first_path, std::move(socket));
  if (chmod(first_path.c_str(), S_IRUSR | S_IWUSR) != 0 || rename(first_path.c_str(), path.c_str()) != 0) {
    return base::fail("can't make the socket {}: {}", path, base::reason_of(errno));
  }
  file.path_ = path;
  return file;
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), socket_(std::move(other.socket_)) {}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(socket_, other.socket_);
  return *this;
}

SocketFile::~SocketFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace heaptap::endpoint
