// Where a channel leads: a UNIX socket's path, or a host and a port. Hosts are numbers here; a name is kept, and becomes
// numbers in channel/resolve.h alone, so that a static program has no name service.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptap::channel {

// As the kernel takes it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

class Address {
 public:
  // Too long for a socket: none.
  static std::optional<Address> of_file(std::string path);
  static Address of_name(std::string name, uint16_t port);
  static Address of_number(const in_addr& number, uint16_t port);
  static Address of_number(const in6_addr& number, uint32_t scope, uint16_t port);
  // What accept(), getsockname() and getaddrinfo() give; none of other families.
  static std::optional<Address> of_socket(const sockaddr* address);

  [[nodiscard]] bool is_file() const { return kind_ == Kind::kFile; }
  [[nodiscard]] bool is_name() const { return kind_ == Kind::kName; }
  // A path or a name.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] uint16_t port() const { return port_; }
  // Whether bytes stay on this machine by what the address says: a UNIX socket, 127.0.0.0/8, ::1. A name doesn't say it.
  [[nodiscard]] bool is_loopback() const;
  // parse_address() makes the same of it.
  [[nodiscard]] std::string to_text() const;
  // An IPv6 network (/64), an IPv4 host, and nothing of a file: what limits of attempts count by.
  [[nodiscard]] std::string network() const;
  // None: it is a name.
  [[nodiscard]] std::optional<SocketAddress> to_socket() const;

 private:
  enum class Kind : uint8_t { kFile, kName, kIpv4, kIpv6 };

  // An IPv4 address, also one that is written as an IPv6 one.
  [[nodiscard]] std::optional<in_addr> ipv4() const;

  Kind kind_ = Kind::kFile;
  std::string text_;
  in_addr ipv4_{};
  in6_addr ipv6_{};
  uint32_t scope_ = 0;
  uint16_t port_ = 0;
};

// unix:PATH, or anything with a `/`: a UNIX socket. HOST:PORT, [IPv6]:PORT, :PORT or PORT, after `tcp:` or not: TCP; without a
// host it is 127.0.0.1, which `localhost` stands for as well. IPv6 may have an interface: [fe80::1%eth0]:PORT.
base::Result<Address> parse_address(std::string_view text);

// "board": no path, no port, no number, so that it is no address; something may be announced by that name.
bool is_name_alone(std::string_view text);

}  // namespace heaptap::channel
