// Packet on a link: from one end to the other, or multicast.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "common/network/ip_address.h"

namespace heaptap::discovery {

using namespace network;  // addresses, links, DNS messages

inline constexpr uint16_t kMulticastPort = 5353;
inline constexpr uint64_t kMillisecond = 1'000'000;  // in nanoseconds, like all times here
inline constexpr uint64_t kSecond = 1000 * kMillisecond;
inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// One address family on one link. Questions are answered on their channel.
struct Channel {
  unsigned link = 0;
  Family family = Family::kIpv4;
  friend bool operator==(const Channel&, const Channel&) = default;
};

struct Packet {
  Channel channel;
  std::optional<Endpoint> peer;  // sender or recipient; none: multicast
  std::string bytes;
};

}  // namespace heaptap::discovery
