// The links of this machine that multicast goes over: an interface that is up and has a carrier. Not those to one other machine
// (tunnels): what is said about the local network stays there.
#pragma once
#include <string>
#include <vector>

#include "discovery/ip_address.h"

namespace heaptap::discovery {

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
  // Whether an address is one of its networks', so that what is sent there goes through no router.
  [[nodiscard]] bool reaches(const IpAddress& address) const;
  friend bool operator==(const Link&, const Link&) = default;
};

enum class Where {
  kNetwork,  // loopback only where there is nothing else
  kNetworkAndLoopback,
};
std::vector<Link> links_of_machine(Where where);

const Link* find_link(const std::vector<Link>& links, unsigned index);

}  // namespace heaptap::discovery
