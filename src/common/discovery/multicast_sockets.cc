#include "common/discovery/multicast_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/network/dns_message.h"

namespace heaptap::discovery {
namespace {

constexpr int kAllHops = 255;  // RFC 6762, 11

Endpoint group_of(Family family) {
  Endpoint group{.address = {.family = family}, .port = kMulticastPort};
  if (family == Family::kIpv4) {
    group.address.bytes = {224, 0, 0, 251};
  } else {
    group.address.bytes = {0xff, 0x02};
    group.address.bytes.back() = 0xfb;
  }
  return group;
}

bool set(int socket, int level, int name, int value) {
  return setsockopt(socket, level, name, &value, sizeof(value)) == 0;
}

bool set_up(int socket, Family family) {
  // Both: programs started earlier have set one or the other.
  bool is_done = set(socket, SOL_SOCKET, SO_REUSEADDR, 1) && set(socket, SOL_SOCKET, SO_REUSEPORT, 1);
  if (family == Family::kIpv4) {
    is_done = is_done && set(socket, IPPROTO_IP, IP_PKTINFO, 1) &&
              set(socket, IPPROTO_IP, IP_MULTICAST_TTL, kAllHops) && set(socket, IPPROTO_IP, IP_TTL, kAllHops) &&
              set(socket, IPPROTO_IP, IP_MULTICAST_ALL, 0);
  } else {
    is_done = is_done && set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1) && set(socket, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) &&
              set(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, kAllHops) &&
              set(socket, IPPROTO_IPV6, IPV6_UNICAST_HOPS, kAllHops);
  }
  return is_done;
}

bool bind_to(int socket, Family family, uint16_t port) {
  const sockaddr_storage name = Endpoint{.address = {.family = family}, .port = port}.name(0);
  const socklen_t bytes = family == Family::kIpv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return bind(socket, reinterpret_cast<const sockaddr*>(&name), bytes) == 0;
}

base::UniqueFd open_one(Family family, PortChoice choice) {
  const int domain = family == Family::kIpv4 ? AF_INET : AF_INET6;
  base::UniqueFd made(socket(domain, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made || !set_up(made.get(), family)) return {};
  if (bind_to(made.get(), family, kMulticastPort)) return made;
  if (choice == PortChoice::kMulticastOrAny && bind_to(made.get(), family, 0)) return made;
  return {};
}

bool join_one(int socket, const Channel& channel) {
  const Endpoint group = group_of(channel.family);
  if (channel.family == Family::kIpv4) {
    ip_mreqn request{};
    request.imr_ifindex = static_cast<int>(channel.link);
    std::memcpy(&request.imr_multiaddr, group.address.bytes.data(), kIpv4Bytes);
    return setsockopt(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)) == 0;
  }
  ipv6_mreq request{};
  request.ipv6mr_interface = channel.link;
  std::memcpy(&request.ipv6mr_multiaddr, group.address.bytes.data(), kIpv6Bytes);
  return setsockopt(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request)) == 0;
}

constexpr size_t kControlBytes = CMSG_SPACE(sizeof(in6_pktinfo));  // in_pktinfo is smaller

template <typename Facts>
void put_facts(msghdr& head, int level, int type, const Facts& facts) {
  cmsghdr* const control = CMSG_FIRSTHDR(&head);
  control->cmsg_level = level;
  control->cmsg_type = type;
  control->cmsg_len = CMSG_LEN(sizeof(facts));
  std::memcpy(CMSG_DATA(control), &facts, sizeof(facts));
  head.msg_controllen = CMSG_SPACE(sizeof(facts));
}

template <typename Facts>
Facts facts_in(const cmsghdr& control) {
  Facts facts{};
  if (control.cmsg_len >= CMSG_LEN(sizeof(facts))) std::memcpy(&facts, CMSG_DATA(&control), sizeof(facts));
  return facts;
}

// The interface of arrival; 0: unknown.
unsigned link_in(msghdr& head) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&head); control != nullptr; control = CMSG_NXTHDR(&head, control)) {
    if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
      return static_cast<unsigned>(facts_in<in_pktinfo>(*control).ipi_ifindex);
    }
    if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
      return facts_in<in6_pktinfo>(*control).ipi6_ifindex;
    }
  }
  return 0;
}

}  // namespace

base::Result<MulticastSockets> MulticastSockets::open(PortChoice choice) {
  MulticastSockets sockets;
  sockets.four_ = open_one(Family::kIpv4, choice);
  const int reason = errno;
  sockets.six_ = open_one(Family::kIpv6, choice);
  if (!sockets.four_ && !sockets.six_) {
    return base::fail("can't listen for multicast DNS on port {}: {}", kMulticastPort, base::reason_of(reason));
  }
  return sockets;
}

void MulticastSockets::join(const std::vector<Link>& links) {
  links_ = links;
  // An interface may have disappeared, and another one may have its number since.
  std::erase_if(joined_, [&](const Channel& channel) {
    const Link* const link = find_link(links, channel.link);
    return link == nullptr || !link->has(channel.family);
  });
  for (const Link& link : links) {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      const Channel channel{link.index, family};
      const bool is_joined = std::ranges::find(joined_, channel) != joined_.end();
      if (is_joined || !socket_of(family) || !link.has(family)) continue;
      if (join_one(socket_of(family).get(), channel) || errno == EADDRINUSE) joined_.push_back(channel);
    }
  }
}

void MulticastSockets::add_waits(std::vector<pollfd>& waits) const {
  for (const auto* const socket : {&four_, &six_}) {
    if (*socket) waits.push_back({socket->get(), POLLIN, 0});
  }
}

std::optional<Packet> MulticastSockets::receive() {
  auto packet = receive_from(Family::kIpv4);
  return packet ? packet : receive_from(Family::kIpv6);
}

std::optional<Packet> MulticastSockets::receive_from(Family family) {
  const int socket = socket_of(family).get();
  std::array<char, kMaxMessageBytes> bytes;
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  sockaddr_storage sender{};
  iovec part{bytes.data(), bytes.size()};
  msghdr head{};
  head.msg_name = &sender;
  head.msg_namelen = sizeof(sender);
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  if (socket < 0) return std::nullopt;
  const ssize_t count = recvmsg(socket, &head, MSG_DONTWAIT);
  if (count < 0 || sender.ss_family != (family == Family::kIpv4 ? AF_INET : AF_INET6)) return std::nullopt;
  Packet packet{.channel = {link_in(head), family}, .peer = Endpoint::of(sender), .bytes = {}};
  if ((head.msg_flags & MSG_TRUNC) == 0) packet.bytes.assign(bytes.data(), static_cast<size_t>(count));
  return packet;
}

// For multicast over loopback the kernel would set no source address.
in_addr_t MulticastSockets::source_on(unsigned link) const {
  in_addr_t source = INADDR_ANY;
  const Link* const known = find_link(links_, link);
  if (known == nullptr) return source;
  const auto own =
      std::ranges::find(known->addresses, Family::kIpv4, [](const LinkAddress& one) { return one.address.family; });
  if (own != known->addresses.end()) std::memcpy(&source, own->address.bytes.data(), sizeof(source));
  return source;
}

void MulticastSockets::send(const Packet& packet) {
  const Family family = packet.channel.family;
  sockaddr_storage receiver = packet.peer.value_or(group_of(family)).name(packet.channel.link);
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  iovec part{const_cast<char*>(packet.bytes.data()), packet.bytes.size()};
  msghdr head{};
  head.msg_name = &receiver;
  head.msg_namelen = family == Family::kIpv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  if (family == Family::kIpv4) {
    in_pktinfo facts{};
    facts.ipi_ifindex = static_cast<int>(packet.channel.link);
    if (!packet.peer) facts.ipi_spec_dst.s_addr = source_on(packet.channel.link);
    put_facts(head, IPPROTO_IP, IP_PKTINFO, facts);
  } else {
    in6_pktinfo facts{};
    facts.ipi6_ifindex = packet.channel.link;
    put_facts(head, IPPROTO_IPV6, IPV6_PKTINFO, facts);
  }
  (void)sendmsg(socket_of(family).get(), &head, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace heaptap::discovery
