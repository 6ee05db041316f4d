// IPv4 and IPv6 addresses in binary form.
#pragma once
#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heaptap::network {

enum class Family : uint8_t { kIpv4, kIpv6 };
inline constexpr size_t kIpv4Bytes = 4;
inline constexpr size_t kIpv6Bytes = 16;

struct IpAddress {
  Family family = Family::kIpv4;
  std::array<uint8_t, kIpv6Bytes> bytes{};  // for IPv4 the first four

  [[nodiscard]] bool is_link_local() const;
  [[nodiscard]] bool is_loopback() const;
  // Whether the first `prefix_bits` bits are equal.
  [[nodiscard]] bool is_near(const IpAddress& other, unsigned prefix_bits) const;
  // Wire format of a record.
  [[nodiscard]] std::string data() const;
  // From a socket address, or a network mask in that form.
  static IpAddress of_socket(Family family, const sockaddr& name);
  // All zero if the data don't have the family's length.
  static IpAddress of_data(Family family, std::string_view data);
  // "10.0.0.7", "fe80::1".
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

struct Endpoint {
  IpAddress address;
  uint16_t port = 0;

  // The family must be one of the two.
  static Endpoint of(const sockaddr_storage& name);
  // `link`: for a link-local address.
  [[nodiscard]] sockaddr_storage name(unsigned link) const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace heaptap::network
