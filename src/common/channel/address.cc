#include "common/channel/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "common/base/ip_text.h"
#include "common/base/unique_fd.h"
#include "common/base/whole_number.h"
#include "common/channel/failure.h"

namespace heaptap::channel {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kTcpPrefix = "tcp:";
constexpr size_t kMaxNameBytes = 253;                                // RFC 1035
constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;  // and a NUL
constexpr size_t kMaxNumberBytes = INET6_ADDRSTRLEN + IF_NAMESIZE;   // with the interface's name

std::unexpected<base::Error> malformed(std::initializer_list<std::string_view> parts) {
  return fail({join(parts), ": write HOST:PORT, [IPv6]:PORT, :PORT or unix:PATH"});
}

base::Result<uint16_t> parse_port(std::string_view text, std::string_view whole) {
  const auto port = base::whole_number<uint16_t>(text);
  if (!port) return malformed({"'", whole, "': '", text, "' is not a port (a number from 0 to 65535)"});
  return *port;
}

base::Result<Address> parse_file(std::string_view path, std::string_view whole) {
  if (path.empty()) return fail({"'", whole, "' has no path: write unix:PATH"});
  if (path.contains('\0')) return fail({"a socket's path can't contain a NUL byte: write unix:PATH"});
  auto address = Address::of_file(std::string(path));
  if (!address) {
    return fail({"'", whole, "' is too long for a UNIX socket (", std::to_string(path.size()), " bytes, at most ",
                 std::to_string(kMaxPathBytes), "): use a shorter path, for example in /tmp or /run"});
  }
  return *std::move(address);
}

// 0: no interface has that name. (if_nametoindex() does the same, but brings the resolver into a static program.)
uint32_t interface_number(std::string_view name) {
  ifreq request{};
  const base::UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || name.size() >= sizeof(request.ifr_name)) return 0;
  name.copy(request.ifr_name, name.size());
  return ioctl(socket.get(), SIOCGIFINDEX, &request) == 0 ? static_cast<uint32_t>(request.ifr_ifindex) : 0;
}

// By number (%2) or by name (%eth0).
base::Result<uint32_t> parse_scope(std::string_view scope, std::string_view whole) {
  if (const auto number = base::whole_number<uint32_t>(scope); number && *number != 0) return *number;
  if (const uint32_t number = interface_number(scope); number != 0) return number;
  return fail({"'", whole, "': this machine has no network interface '", scope, "': `ip link` lists them"});
}

base::Result<Address> parse_ipv6(std::string_view number, uint16_t port, std::string_view whole) {
  const size_t percent = std::min(number.find('%'), number.size());
  in6_addr parsed{};
  if (number.size() > kMaxNumberBytes ||
      inet_pton(AF_INET6, std::string(number.substr(0, percent)).c_str(), &parsed) != 1) {
    return malformed({"'", whole, "': '", number, "' is not an IPv6 address"});
  }
  uint32_t scope = 0;
  if (percent < number.size()) {
    const auto found = parse_scope(number.substr(percent + 1), whole);
    if (!found) return std::unexpected(found.error());
    scope = *found;
  } else if (IN6_IS_ADDR_LINKLOCAL(&parsed)) {
    return fail({"'", whole, "' is a link-local address: add the interface, [", number, "%eth0]:PORT"});
  }
  return Address::of_number(parsed, scope, port);
}

bool is_letter_of_name(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '-' || letter == '.' || letter == '_';
}

base::Result<Address> parse_host(std::string_view host, uint16_t port, std::string_view whole) {
  if (host.empty() || host == "localhost") return Address::of_number(in_addr{htonl(INADDR_LOOPBACK)}, port);
  in_addr number{};
  if (host.size() < INET_ADDRSTRLEN && inet_pton(AF_INET, std::string(host).c_str(), &number) == 1) {
    return Address::of_number(number, port);
  }
  if (host.find_first_not_of("0123456789.") == std::string_view::npos) {
    return malformed({"'", whole, "': '", host, "' is not an IPv4 address (four numbers from 0 to 255)"});
  }
  const bool is_name = host.size() <= kMaxNameBytes && std::ranges::all_of(host, is_letter_of_name) && host[0] != '-';
  if (!is_name) return malformed({"'", whole, "': '", host, "' is not a host name"});
  return Address::of_name(std::string(host), port);
}

base::Result<Address> parse_tcp(std::string_view text, std::string_view whole) {
  if (base::is_digits(text)) {
    const auto port = parse_port(text, whole);
    return port ? parse_host("", *port, whole) : std::unexpected(port.error());
  }
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos || !text.substr(end + 1).starts_with(':')) {
      return malformed({"'", whole, "' has no port after its brackets"});
    }
    const auto port = parse_port(text.substr(end + 2), whole);
    return port ? parse_ipv6(text.substr(1, end - 1), *port, whole) : std::unexpected(port.error());
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed({"'", whole, "' has no port"});
  if (text.find(':') != colon) return malformed({"'", whole, "': write an IPv6 address in brackets"});
  const auto port = parse_port(text.substr(colon + 1), whole);
  return port ? parse_host(text.substr(0, colon), *port, whole) : std::unexpected(port.error());
}

template <typename Kind>
SocketAddress socket_of(const Kind& name, size_t bytes) {
  SocketAddress address;
  std::memcpy(&address.storage, &name, bytes);
  address.bytes = static_cast<socklen_t>(bytes);
  return address;
}

}  // namespace

std::optional<Address> Address::of_file(std::string path) {
  if (path.empty() || path.size() > kMaxPathBytes) return std::nullopt;
  Address address;
  address.text_ = std::move(path);
  return address;
}

Address Address::of_name(std::string name, uint16_t port) {
  Address address;
  address.kind_ = Kind::kName;
  address.text_ = std::move(name);
  address.port_ = port;
  return address;
}

Address Address::of_number(const in_addr& number, uint16_t port) {
  Address address;
  address.kind_ = Kind::kIpv4;
  address.ipv4_ = number;
  address.port_ = port;
  return address;
}

Address Address::of_number(const in6_addr& number, uint32_t scope, uint16_t port) {
  Address address;
  address.kind_ = Kind::kIpv6;
  address.ipv6_ = number;
  address.scope_ = scope;
  address.port_ = port;
  return address;
}

std::optional<Address> Address::of_socket(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in name{};
    std::memcpy(&name, address, sizeof(name));
    return of_number(name.sin_addr, ntohs(name.sin_port));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 name{};
    std::memcpy(&name, address, sizeof(name));
    return of_number(name.sin6_addr, name.sin6_scope_id, ntohs(name.sin6_port));
  }
  return std::nullopt;
}

std::optional<in_addr> Address::ipv4() const {
  if (kind_ == Kind::kIpv4) return ipv4_;
  if (kind_ != Kind::kIpv6 || !IN6_IS_ADDR_V4MAPPED(&ipv6_)) return std::nullopt;
  in_addr number{};
  std::memcpy(&number, ipv6_.s6_addr + 12, sizeof(number));
  return number;
}

bool Address::is_loopback() const {
  if (const auto number = ipv4()) return ntohl(number->s_addr) >> 24 == IN_LOOPBACKNET;
  return kind_ == Kind::kFile || (kind_ == Kind::kIpv6 && IN6_IS_ADDR_LOOPBACK(&ipv6_));
}

std::string Address::to_text() const {
  const std::string port = std::to_string(port_);
  if (kind_ == Kind::kFile) {
    const bool is_path = text_[0] == '/' || text_.starts_with("./") || text_.starts_with("../");
    return is_path ? text_ : join({kUnixPrefix, text_});
  }
  if (kind_ == Kind::kName) {
    const bool is_like_prefix = text_ == "tcp" || text_ == "unix";
    return join({is_like_prefix ? kTcpPrefix : "", text_, ":", port});
  }
  if (kind_ == Kind::kIpv4) {
    return join({base::ipv4_text(std::bit_cast<std::array<uint8_t, base::kIpv4TextBytes>>(ipv4_)), ":", port});
  }
  const std::string scope = scope_ == 0 ? std::string() : join({"%", std::to_string(scope_)});
  return join({"[", base::ipv6_text(ipv6_.s6_addr), scope, "]:", port});
}

std::string Address::network() const {
  constexpr size_t kNetworkBytes = 8;
  if (const auto number = ipv4()) return {reinterpret_cast<const char*>(&*number), sizeof(*number)};
  if (kind_ == Kind::kIpv6) return {reinterpret_cast<const char*>(ipv6_.s6_addr), kNetworkBytes};
  return {};
}

std::optional<SocketAddress> Address::to_socket() const {
  if (kind_ == Kind::kName) return std::nullopt;
  if (kind_ == Kind::kFile) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, text_.data(), text_.size());  // of_file: it fits
    return socket_of(name, offsetof(sockaddr_un, sun_path) + text_.size() + 1);
  }
  if (kind_ == Kind::kIpv4) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr = ipv4_;
    name.sin_port = htons(port_);
    return socket_of(name, sizeof(name));
  }
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_addr = ipv6_;
  name.sin6_scope_id = scope_;
  name.sin6_port = htons(port_);
  return socket_of(name, sizeof(name));
}

base::Result<Address> parse_address(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return parse_file(text.substr(kUnixPrefix.size()), text);
  if (text.starts_with(kTcpPrefix)) return parse_tcp(text.substr(kTcpPrefix.size()), text);
  if (text.contains('/')) return parse_file(text, text);
  if (text.empty()) return malformed({"no address given"});
  return parse_tcp(text, text);
}

bool is_name_alone(std::string_view text) {
  constexpr size_t kMaxServiceBytes = 63;  // RFC 6763, 4.1.1
  if (text.empty() || text.size() > kMaxServiceBytes || text.find_first_of("/:[") != std::string_view::npos) {
    return false;
  }
  return text.find_first_not_of("0123456789.") != std::string_view::npos;
}

}  // namespace heaptap::channel
