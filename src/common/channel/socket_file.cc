#include "common/channel/socket_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/channel/failure.h"

namespace heaptap::channel {
namespace {

// Whether it has no listener: then the kernel refuses at once.
bool is_dead(const SocketAddress& name) {
  const base::UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe && connect(probe.get(), name.get(), name.bytes) != 0 && errno == ECONNREFUSED;
}

base::Result<> remove_dead(const std::string& path, const SocketAddress& name) {
  struct stat facts{};
  if (lstat(path.c_str(), &facts) != 0) return {};  // removed in the meantime
  if (!S_ISSOCK(facts.st_mode)) {
    return fail({"can't listen at '", path, "': the file exists and is not a socket: use another path"});
  }
  if (facts.st_uid != geteuid()) {
    return fail({"can't listen at '", path,
                 "': the socket belongs to another user: use another path, in a directory of your own"});
  }
  if (!is_dead(name)) {
    return fail({"can't listen at '", path, "': another process is listening there: end it, or use another path"});
  }
  unlink(path.c_str());
  return {};
}

}  // namespace

base::Result<SocketFile> SocketFile::bind(const base::UniqueFd& socket, const Address& address) {
  const std::string& path = address.text();
  const auto name = address.to_socket();
  // The file gets the socket's mode (unix(7)), so that nobody else can connect even for a moment.
  fchmod(socket.get(), S_IRUSR | S_IWUSR);
  int error = ::bind(socket.get(), name->get(), name->bytes) == 0 ? 0 : errno;
  if (error == EADDRINUSE) {
    HEAPTAP_TRY(remove_dead(path, *name));
    error = ::bind(socket.get(), name->get(), name->bytes) == 0 ? 0 : errno;
  }
  struct stat facts{};
  if (error == 0 && lstat(path.c_str(), &facts) != 0) error = errno;
  if (error != 0) {
    return fail({"can't make the socket '", path, "': ", base::reason_of(error),
                 "; use a path in a directory that you can write to"});
  }
  return SocketFile(path, facts.st_dev, facts.st_ino);
}

SocketFile::SocketFile(std::string path, dev_t device, ino_t file)
    : path_(std::move(path)), device_(device), file_(file), maker_(getpid()) {}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), file_(other.file_), maker_(other.maker_) {}

SocketFile::~SocketFile() {
  struct stat facts{};
  if (path_.empty() || lstat(path_.c_str(), &facts) != 0) return;
  if (facts.st_dev == device_ && facts.st_ino == file_ && maker_ == getpid()) unlink(path_.c_str());
}

}  // namespace heaptap::channel
