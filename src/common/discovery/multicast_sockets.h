// Multicast DNS sockets for 224.0.0.251 and ff02::fb, port 5353, shared with other programs on the machine.
// Non-blocking; packets that can't be sent are dropped, since they are repeated or requested again.
#pragma once
#include <netinet/in.h>
#include <poll.h>

#include <optional>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/discovery/packet.h"
#include "common/network/link.h"

namespace heaptap::discovery {

enum class PortChoice { kMulticast, kMulticastOrAny };

class MulticastSockets {
 public:
  // kMulticastOrAny: uses any port if port 5353 is taken exclusively. Questions from there are answered all the same.
  static base::Result<MulticastSockets> open(PortChoice choice);

  // Joins the multicast groups on these links. The kernel leaves them by itself on links that are gone.
  void join(const std::vector<Link>& links);
  void add_waits(std::vector<pollfd>& waits) const;
  // A packet received on one of the links; none: no more at present.
  std::optional<Packet> receive();
  void send(const Packet& packet);

 private:
  std::optional<Packet> receive_from(Family family);
  [[nodiscard]] in_addr_t source_on(unsigned link) const;
  [[nodiscard]] const base::UniqueFd& socket_of(Family family) const { return family == Family::kIpv4 ? four_ : six_; }

  base::UniqueFd four_;  // none: the kernel lacks this family
  base::UniqueFd six_;
  std::vector<Channel> joined_;
  std::vector<Link> links_;
};

}  // namespace heaptap::discovery
