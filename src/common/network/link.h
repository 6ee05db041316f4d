// Network links of this machine for multicast: interfaces that are up and have a carrier. Without point-to-point links
// (tunnels): announcements stay in the local network.
#pragma once
#include <string>
#include <vector>

#include "common/network/ip_address.h"

namespace heaptap::network {

inline constexpr size_t kMaxLinks = 32;
inline constexpr size_t kMaxLinkAddresses = 16;

struct LinkAddress {
  IpAddress address;
  unsigned prefix_bits = 0;
  friend bool operator==(const LinkAddress&, const LinkAddress&) = default;
};

struct Link {
  unsigned index = 0;
  std::string name;  // of the interface
  std::vector<LinkAddress> addresses;

  [[nodiscard]] bool has(Family family) const;
  // Whether an address is in one of its networks, so that packets to it pass no router.
  [[nodiscard]] bool reaches(const IpAddress& address) const;
  friend bool operator==(const Link&, const Link&) = default;
};

enum class Where {
  kNetwork,  // loopback only if there is nothing else
  kNetworkAndLoopback,
};
std::vector<Link> links_of_machine(Where where);

const Link* find_link(const std::vector<Link>& links, unsigned index);

}  // namespace heaptap::network
