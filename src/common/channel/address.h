// Address of a channel: a UNIX socket's path, or a host and a port. Hosts are numeric here; a host name is resolved
// only in record/remote/resolve.h, so that a static program needs no name service.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::channel {

// In the kernel's form.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

class Address {
 public:
  // None: too long for a socket.
  static std::optional<Address> of_file(std::string path);
  static Address of_name(std::string name, uint16_t port);
  static Address of_number(const in_addr& number, uint16_t port);
  static Address of_number(const in6_addr& number, uint32_t scope, uint16_t port);
  // From accept(), getsockname() and getaddrinfo(); none for other families.
  static std::optional<Address> of_socket(const sockaddr* address);

  [[nodiscard]] bool is_file() const { return kind_ == Kind::kFile; }
  [[nodiscard]] bool is_name() const { return kind_ == Kind::kName; }
  // A path or a name.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] uint16_t port() const { return port_; }
  // Whether the address itself is local to this machine: a UNIX socket, 127.0.0.0/8, ::1. False for a name.
  [[nodiscard]] bool is_loopback() const;
  // Inverse of parse_address().
  [[nodiscard]] std::string to_text() const;
  // An IPv6 network (/64), an IPv4 host, or empty for a file: the key for attempt limits.
  [[nodiscard]] std::string network() const;
  // None: it is a name.
  [[nodiscard]] std::optional<SocketAddress> to_socket() const;

 private:
  enum class Kind : uint8_t { kFile, kName, kIpv4, kIpv6 };

  // The IPv4 address, also of an IPv4-mapped IPv6 one.
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

// "board": no path, port or number, so not an address; possibly the name of an announced service.
bool is_name_alone(std::string_view text);

}  // namespace heaptap::channel
