// Control addresses of recordings: for each recorded process (and its machine, if that is another one) the name of a
// socket file and of an abstract UNIX socket.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/unique_fd.h"

namespace heaptap::endpoint {

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

// Identity of a recorded process.
struct ProcessName {
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): a number alone means a process of this machine
  ProcessName(pid_t number, std::string on = {}) : pid(number), machine(std::move(on)) {}
  pid_t pid;
  std::string machine;  // its machine as named by the user; empty: this one
  auto operator<=>(const ProcessName&) const = default;
};
// "process 7", "process 7 of board:8086"
std::string to_text(const ProcessName& process);

// "process.7.sock", "process.7@board:8086.sock": a slash in it is written %2F.
std::string file_name_of(const ProcessName& process);
// None: no such name.
std::optional<ProcessName> process_of_file_name(std::string_view name);

// "@heaptap.recording.7", as proc(5) and ss(8) write an abstract name.
std::string abstract_name_of(const ProcessName& process);
std::optional<ProcessName> process_of_abstract_name(std::string_view name);

// The abstract address. None: too long for a socket.
std::optional<Address> address_of_process(const ProcessName& process);
// None: too long for a socket.
std::optional<Address> address_of_file(const std::string& path);

// Non-blocking.
base::UniqueFd make_socket();
// On failure, errno is set.
bool listen_at(int socket, const Address& address);
bool connect_to(int socket, const Address& address);

// Whether the peer of a connection is authorized: this user, or root.
bool may_ask(int connection);

}  // namespace heaptap::endpoint
