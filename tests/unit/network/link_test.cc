#include "common/network/link.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <memory>
#include <set>
#include <tuple>

namespace heaptap::network {
namespace {

using Known = std::set<std::tuple<unsigned, IpAddress>>;

// What the C library says of the interfaces that are up; `wanted` of their flags, and none of `unwanted`.
Known by_libc(unsigned wanted, unsigned unwanted) {
  ifaddrs* entries = nullptr;
  if (getifaddrs(&entries) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(entries, freeifaddrs);
  Known known;
  for (const ifaddrs* entry = entries; entry != nullptr; entry = entry->ifa_next) {
    const unsigned flags = entry->ifa_flags;
    if ((flags & wanted) != wanted || (flags & unwanted) != 0 || entry->ifa_addr == nullptr) continue;
    const sa_family_t family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    known.emplace(if_nametoindex(entry->ifa_name),
                  IpAddress::of_socket(family == AF_INET ? Family::kIpv4 : Family::kIpv6, *entry->ifa_addr));
  }
  return known;
}

TEST(LinkTest, KnowsTheAddressesThatTheLibraryKnows) {
  Known expected = by_libc(IFF_UP | IFF_RUNNING | IFF_MULTICAST, IFF_LOOPBACK | IFF_POINTOPOINT);
  expected.merge(by_libc(IFF_UP | IFF_RUNNING | IFF_LOOPBACK, 0));
  Known found;
  for (const Link& link : links_of_machine(Where::kNetworkAndLoopback)) {
    char name[IF_NAMESIZE] = {};
    EXPECT_STREQ(if_indextoname(link.index, name), link.name.c_str());
    for (const LinkAddress& own : link.addresses) found.emplace(link.index, own.address);
  }
  if (expected.size() <= kMaxLinkAddresses) {
    EXPECT_EQ(found, expected);
  }
}

TEST(LinkTest, LoopbackHasItsPrefix) {
  for (const Link& link : links_of_machine(Where::kNetworkAndLoopback)) {
    for (const LinkAddress& own : link.addresses) {
      const std::string text = own.address.text();
      EXPECT_EQ(own.prefix_bits, text == "127.0.0.1" ? 8U : text == "::1" ? 128U : own.prefix_bits) << text;
    }
  }
}

}  // namespace
}  // namespace heaptap::network
