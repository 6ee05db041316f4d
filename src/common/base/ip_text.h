// IP addresses as text. inet_ntop() would bring printf() into the static program for targets.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace heaptap::base {

inline constexpr size_t kIpv4TextBytes = 4;
inline constexpr size_t kIpv6TextBytes = 16;

// 192.168.7.2
std::string ipv4_text(std::span<const uint8_t, kIpv4TextBytes> address);
// fe80::1 (RFC 5952: small letters, the first of the longest runs of zeros left out, ::ffff:192.168.7.2)
std::string ipv6_text(std::span<const uint8_t, kIpv6TextBytes> address);

}  // namespace heaptap::base
