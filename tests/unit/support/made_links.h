// Simulated links and their addresses.
#pragma once
#include <cstdint>
#include <string>

#include "common/network/link.h"

namespace heaptap::network {

inline IpAddress ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return {.family = Family::kIpv4, .bytes = {a, b, c, d}};
}
// fe80::NUMBER
inline IpAddress ipv6(uint8_t number) {
  IpAddress address{.family = Family::kIpv6, .bytes = {0xfe, 0x80}};
  address.bytes.back() = number;
  return address;
}
// 10.0.SEGMENT.MACHINE, and fe80::MACHINE. The link's index is SEGMENT.
inline Link made_link(uint8_t segment, uint8_t machine) {
  return {.index = segment,
          .name = "eth" + std::to_string(segment),
          .addresses = {{ipv4(10, 0, segment, machine), 24}, {ipv6(machine), 64}}};
}
inline Link only_ipv4(Link link) {
  std::erase_if(link.addresses, [](const LinkAddress& own) { return own.address.family == Family::kIpv6; });
  return link;
}

}  // namespace heaptap::network
