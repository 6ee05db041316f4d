#include "common/network/link.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/unique_fd.h"

// By rtnetlink(7). getifaddrs() does the same, but brings the resolver and printf() into a static program.
namespace heaptap::network {
namespace {

enum class Wanted { kNetwork, kLoopback };

struct Interface {
  unsigned index = 0;
  unsigned flags = 0;
  std::string name;
};

struct InterfaceAddress {
  unsigned index = 0;
  LinkAddress address;
};

// The first `T` of some bytes, and the rest after netlink's alignment; false: too short.
template <typename T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof(T)) return false;
  bytes.copy(reinterpret_cast<char*>(&value), sizeof(T));
  bytes.remove_prefix(std::min<size_t>(NLMSG_ALIGN(sizeof(T)), bytes.size()));
  return true;
}

// visit(type, value) for each attribute.
template <typename Visit>
void for_attributes(std::string_view bytes, const Visit& visit) {
  rtattr head{};
  for (std::string_view rest = bytes; take(rest, head);) {
    if (head.rta_len < sizeof(head) || head.rta_len > bytes.size()) return;
    visit(head.rta_type, bytes.substr(sizeof(head), head.rta_len - sizeof(head)));
    bytes.remove_prefix(std::min<size_t>(RTA_ALIGN(head.rta_len), bytes.size()));
    rest = bytes;
  }
}

enum class Answer { kGoesOn, kEnds };

// visit(type, payload) for each message of a piece of the answer.
template <typename Visit>
Answer read_messages(std::string_view bytes, const Visit& visit) {
  nlmsghdr head{};
  for (std::string_view rest = bytes; take(rest, head);) {
    if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > bytes.size()) return Answer::kEnds;
    if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) return Answer::kEnds;
    visit(head.nlmsg_type, bytes.substr(NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN));
    bytes.remove_prefix(std::min<size_t>(NLMSG_ALIGN(head.nlmsg_len), bytes.size()));
    rest = bytes;
  }
  return Answer::kGoesOn;
}

// All entries of a kind (RTM_GETLINK, RTM_GETADDR); none if the kernel can't be asked.
template <typename Visit>
void ask_kernel(uint16_t kind, const Visit& visit) {
  struct {
    nlmsghdr head;
    rtgenmsg family;
  } question{};
  question.head = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = kind,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                   .nlmsg_seq = 1,
                   .nlmsg_pid = 0};
  const base::UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (!socket || connect(socket.get(), reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel)) != 0 ||
      send(socket.get(), &question, sizeof(question), 0) < 0)
    return;
  std::string piece(size_t{32} << 10, '\0');  // the kernel sends no larger ones
  while (true) {
    const ssize_t size = recv(socket.get(), piece.data(), piece.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0 || read_messages({piece.data(), static_cast<size_t>(size)}, visit) == Answer::kEnds) return;
  }
}

std::vector<Interface> interfaces() {
  std::vector<Interface> found;
  ask_kernel(RTM_GETLINK, [&](uint16_t type, std::string_view bytes) {
    ifinfomsg head{};
    if (type != RTM_NEWLINK || !take(bytes, head)) return;
    Interface& each = found.emplace_back(
        Interface{.index = static_cast<unsigned>(head.ifi_index), .flags = head.ifi_flags, .name = {}});
    for_attributes(bytes, [&](uint16_t kind, std::string_view value) {
      if (kind == IFLA_IFNAME) each.name = value.substr(0, value.find('\0'));
    });
  });
  return found;
}

// The own address is IFA_LOCAL on point-to-point links, and always for IPv4; otherwise there is only IFA_ADDRESS.
std::vector<InterfaceAddress> addresses_of_interfaces() {
  std::vector<InterfaceAddress> found;
  ask_kernel(RTM_GETADDR, [&](uint16_t type, std::string_view bytes) {
    ifaddrmsg head{};
    if (type != RTM_NEWADDR || !take(bytes, head)) return;
    if (head.ifa_family != AF_INET && head.ifa_family != AF_INET6) return;
    const Family family = head.ifa_family == AF_INET ? Family::kIpv4 : Family::kIpv6;
    std::string_view own;
    for_attributes(bytes, [&](uint16_t kind, std::string_view value) {
      if (kind == IFA_LOCAL || (kind == IFA_ADDRESS && own.empty())) own = value;
    });
    if (own.empty()) return;
    found.push_back({.index = head.ifa_index, .address = {IpAddress::of_data(family, own), head.ifa_prefixlen}});
  });
  return found;
}

bool is_wanted(const Interface& interface, Wanted wanted) {
  const unsigned flags = interface.flags;
  if ((flags & IFF_UP) == 0 || (flags & IFF_RUNNING) == 0) return false;
  if (wanted == Wanted::kLoopback) return (flags & IFF_LOOPBACK) != 0;
  return (flags & IFF_MULTICAST) != 0 && (flags & (IFF_LOOPBACK | IFF_POINTOPOINT)) == 0;
}

std::vector<Link> links_among(const std::vector<Interface>& interfaces, const std::vector<InterfaceAddress>& addresses,
                              Wanted wanted) {
  std::vector<Link> links;
  for (const Interface& interface : interfaces) {
    if (!is_wanted(interface, wanted) || links.size() == kMaxLinks) continue;
    Link link{.index = interface.index, .name = interface.name, .addresses = {}};
    for (const InterfaceAddress& each : addresses) {
      if (each.index == link.index && link.addresses.size() < kMaxLinkAddresses) link.addresses.push_back(each.address);
    }
    if (!link.addresses.empty()) links.push_back(std::move(link));
  }
  return links;
}

}  // namespace

bool Link::has(Family family) const {
  return std::ranges::any_of(addresses, [&](const LinkAddress& own) { return own.address.family == family; });
}

bool Link::reaches(const IpAddress& address) const {
  return address.is_link_local() || std::ranges::any_of(addresses, [&](const LinkAddress& own) {
           return own.address.is_near(address, own.prefix_bits);
         });
}

std::vector<Link> links_of_machine(Where where) {
  const std::vector<Interface> all = interfaces();
  const std::vector<InterfaceAddress> addresses = addresses_of_interfaces();
  std::vector<Link> links = links_among(all, addresses, Wanted::kNetwork);
  if (links.empty() || where == Where::kNetworkAndLoopback)
    std::ranges::move(links_among(all, addresses, Wanted::kLoopback), std::back_inserter(links));
  return links;
}

const Link* find_link(const std::vector<Link>& links, unsigned index) {
  const auto found = std::ranges::find(links, index, &Link::index);
  return found == links.end() ? nullptr : &*found;
}

}  // namespace heaptap::network
