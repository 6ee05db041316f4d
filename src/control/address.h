// Where a recording is asked for: an abstract UNIX socket named after each recorded process (and the machine where it runs, if
// that is another one), which ends with the one who
// listens, and a socket file of mode 0600 for the whole recording, which can be named, listed and forwarded. Only the same user
// and root are listened to, and only these are believed.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptap::control {

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

// A recorded process.
struct ProcessName {
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): a number alone means a process of this machine
  ProcessName(pid_t number, std::string on = {}) : pid(number), machine(std::move(on)) {}
  pid_t pid;
  std::string machine;  // that it runs on, as its user named it; empty: this one
  auto operator<=>(const ProcessName&) const = default;
};
// "process 7", "process 7 of board:8086"
std::string to_text(const ProcessName& process);
// None: it is too long for a socket.
std::optional<Address> address_of_process(const ProcessName& process);
// None: it is too long for a socket.
std::optional<Address> address_of_file(const std::string& path);

// Whether the peer of a connection may ask: this user, or root.
bool may_ask(int connection);
// Whether the peer is believed: one who may ask is; and root reads what anybody recorded.
bool is_believed(int connection);

// Listening, not blocking; none where that isn't possible.
base::UniqueFd listen_for_process(const ProcessName& process);

// The socket file of a recording, removed with this.
class SocketFile {
 public:
  // In a folder of this user's own: $XDG_RUNTIME_DIR/heaptap, or else /tmp/heaptap-<uid>.
  static base::Result<SocketFile> create(pid_t collector);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  SocketFile(std::string path, base::UniqueFd socket) : path_(std::move(path)), socket_(std::move(socket)) {}

  std::string path_;
  base::UniqueFd socket_;
};

// Whether a recorder listens there that answers this user.
bool is_reachable(const ProcessName& process);

// Recorded processes that can be asked for on this machine, by whomever they are recorded.
std::vector<ProcessName> processes_with_socket();

}  // namespace heaptap::control
