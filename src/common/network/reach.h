// Addresses at which a service is reachable on this machine: only those are announced and displayed. A socket at 0.0.0.0 covers
// all of IPv4, one at [::] all of IPv6 and nothing else (common/channel/listener.cc), others only their own address.
#pragma once
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "common/network/ip_address.h"
#include "common/network/link.h"

namespace heaptap::network {

class Reach {
 public:
  // All addresses of all links.
  Reach() = default;
  // For a listening socket of one of the two families with this address.
  static Reach of_socket(const sockaddr_storage& name);

  [[nodiscard]] bool covers(const Link& link, const IpAddress& address) const;
  // Whether one of a link's addresses is covered.
  [[nodiscard]] bool covers_some(const Link& link) const;
  // The address that others can reach best: link-local ones come last. None: it is reachable on no network.
  [[nodiscard]] std::optional<IpAddress> best_of(const std::vector<Link>& links) const;
  // Suffix for the name of a host with only these addresses: "", "ipv6", "192-168-7-2". Empty for IPv4, the usual case.
  [[nodiscard]] std::string label() const;

 private:
  std::optional<Family> family_;
  std::optional<IpAddress> address_;
  unsigned link_ = 0;  // for that address; 0: any
};

}  // namespace heaptap::network
