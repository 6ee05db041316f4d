// What travels over a link: bytes from one end to the other, or to all who listen.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "discovery/ip_address.h"

namespace heaptap::discovery {

inline constexpr uint16_t kMulticastPort = 5353;
inline constexpr uint64_t kMillisecond = 1'000'000;  // in nanoseconds, as all times here
inline constexpr uint64_t kSecond = 1000 * kMillisecond;
inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// One family of addresses on one link. What is asked here is answered here.
struct Channel {
  unsigned link = 0;
  Family family = Family::kIpv4;
  friend bool operator==(const Channel&, const Channel&) = default;
};

struct Packet {
  Channel channel;
  std::optional<Endpoint> peer;  // who sent it, or whom it is sent to; none: to all who listen
  std::string bytes;
};

}  // namespace heaptap::discovery
