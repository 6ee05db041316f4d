#include "common/network/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "common/base/ip_text.h"

namespace heaptap::network {
namespace {

size_t length_of(Family family) { return family == Family::kIpv4 ? kIpv4Bytes : kIpv6Bytes; }

}  // namespace

// RFC 3927: 169.254/16; RFC 4291, 2.5.6: fe80::/10.
bool IpAddress::is_link_local() const {
  if (family == Family::kIpv4) return bytes[0] == 169 && bytes[1] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool IpAddress::is_loopback() const {
  if (family == Family::kIpv4) return bytes[0] == 127;
  return std::ranges::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t byte) { return byte == 0; }) &&
         bytes.back() == 1;
}

bool IpAddress::is_near(const IpAddress& other, unsigned prefix_bits) const {
  if (family != other.family) return false;
  const size_t whole = std::min<size_t>(prefix_bits / 8, length_of(family));
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(whole), other.bytes.begin())) return false;
  if (whole == length_of(family)) return true;
  const auto mask = static_cast<uint8_t>(0xff00 >> (prefix_bits % 8));
  return ((bytes[whole] ^ other.bytes[whole]) & mask) == 0;
}

std::string IpAddress::data() const { return {reinterpret_cast<const char*>(bytes.data()), length_of(family)}; }

IpAddress IpAddress::of_data(Family family, std::string_view data) {
  IpAddress address{.family = family};
  if (data.size() == length_of(family)) std::memcpy(address.bytes.data(), data.data(), data.size());
  return address;
}

std::string IpAddress::text() const {
  const std::span whole(bytes);
  return family == Family::kIpv4 ? base::ipv4_text(whole.first<kIpv4Bytes>()) : base::ipv6_text(whole);
}

IpAddress IpAddress::of_socket(Family family, const sockaddr& name) {
  IpAddress address{.family = family};
  const char* const bytes = reinterpret_cast<const char*>(&name);
  const size_t at = family == Family::kIpv4 ? offsetof(sockaddr_in, sin_addr) : offsetof(sockaddr_in6, sin6_addr);
  std::memcpy(address.bytes.data(), bytes + at, length_of(family));
  return address;
}

Endpoint Endpoint::of(const sockaddr_storage& name) {
  const auto& any = reinterpret_cast<const sockaddr&>(name);
  if (name.ss_family == AF_INET6) {
    return {IpAddress::of_socket(Family::kIpv6, any), ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port)};
  }
  return {IpAddress::of_socket(Family::kIpv4, any), ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port)};
}

sockaddr_storage Endpoint::name(unsigned link) const {
  sockaddr_storage name{};
  if (address.family == Family::kIpv6) {
    auto& six = reinterpret_cast<sockaddr_in6&>(name);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    six.sin6_scope_id = link;
    std::memcpy(&six.sin6_addr, address.bytes.data(), kIpv6Bytes);
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(name);
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, address.bytes.data(), kIpv4Bytes);
  }
  return name;
}

}  // namespace heaptap::network
