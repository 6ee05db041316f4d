// The two sockets of multicast DNS, 224.0.0.251 and ff02::fb, port 5353, beside those of other programs of the machine. They never
// wait, and what can't be sent isn't: it is repeated anyway, or asked for again.
#pragma once
#include <netinet/in.h>
#include <poll.h>

#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "discovery/link.h"
#include "discovery/packet.h"

namespace heaptap::discovery {

enum class PortChoice { kMulticast, kMulticastOrAny };

class MulticastSockets {
 public:
  // kMulticastOrAny: where somebody keeps port 5353 for himself it is any one. Questions from there are answered all the same.
  static base::Result<MulticastSockets> open(PortChoice choice);

  // Listens on these, too. What is gone, the kernel leaves by itself.
  void join(const std::vector<Link>& links);
  void add_waits(std::vector<pollfd>& waits) const;
  // One that came on one of the links; none: no more for now.
  std::optional<Packet> receive();
  void send(const Packet& packet);

 private:
  std::optional<Packet> receive_from(Family family);
  [[nodiscard]] in_addr_t source_on(unsigned link) const;
  [[nodiscard]] const base::UniqueFd& socket_of(Family family) const { return family == Family::kIpv4 ? four_ : six_; }

  base::UniqueFd four_;  // none: the kernel has no such family
  base::UniqueFd six_;
  std::vector<Channel> joined_;
  std::vector<Link> links_;
};

}  // namespace heaptap::discovery
