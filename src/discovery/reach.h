// Which of a machine's addresses a service is reached at: only those are announced, and told to people. A socket at 0.0.0.0 has all of
// IPv4, one at [::] all of IPv6 and nothing else (channel/listener.cc), any other one its own address alone.
#pragma once
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "discovery/ip_address.h"
#include "discovery/link.h"

namespace heaptap::discovery {

class Reach {
 public:
  // All addresses of all links.
  Reach() = default;
  // Of a socket of one of the two families that listens at this name.
  static Reach of_socket(const sockaddr_storage& name);

  [[nodiscard]] bool covers(const Link& link, const IpAddress& address) const;
  // Whether one of a link's addresses is covered.
  [[nodiscard]] bool covers_some(const Link& link) const;
  // The one that others can reach best: one that holds on a single link comes last. None: there is no network that it is reached on.
  [[nodiscard]] std::optional<IpAddress> best_of(const std::vector<Link>& links) const;
  // In the name of a host that has these addresses alone: "", "ipv6", "192-168-7-2". IPv4 is what a machine is usually reached at, and
  // has no name.
  [[nodiscard]] std::string label() const;

 private:
  std::optional<Family> family_;
  std::optional<IpAddress> address_;
  unsigned link_ = 0;  // of that address; 0: any
};

}  // namespace heaptap::discovery
