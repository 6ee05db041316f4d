// Which addresses of a machine a socket is reached at, by the one that it is bound to.
#include "common/network/reach.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "made_links.h"

namespace heaptap::network {
namespace {

const IpAddress kGlobal{.family = Family::kIpv6, .bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}};
const IpAddress kLoopback = ipv4(127, 0, 0, 1);

Reach bound_to(const IpAddress& address, unsigned link = 0) {
  return Reach::of_socket(Endpoint{.address = address, .port = 7421}.name(link));
}
Reach any_of(Family family) { return bound_to({.family = family}); }

std::vector<std::string> covered(const Reach& reach, const std::vector<Link>& links) {
  std::vector<std::string> texts;
  for (const Link& link : links) {
    for (const LinkAddress& own : link.addresses) {
      if (reach.covers(link, own.address)) texts.push_back(own.address.text() + "%" + link.name);
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;
const std::vector<Link> kLinks{made_link(1, 7), made_link(2, 7)};

TEST(Reach, OfAllIsAll) {
  EXPECT_EQ(covered(Reach(), kLinks), (Texts{"10.0.1.7%eth1", "fe80::7%eth1", "10.0.2.7%eth2", "fe80::7%eth2"}));
}

TEST(Reach, OfAFamilyIsNothingOfTheOther) {
  EXPECT_EQ(covered(any_of(Family::kIpv4), kLinks), (Texts{"10.0.1.7%eth1", "10.0.2.7%eth2"}));
  EXPECT_EQ(covered(any_of(Family::kIpv6), kLinks), (Texts{"fe80::7%eth1", "fe80::7%eth2"}));
  EXPECT_FALSE(any_of(Family::kIpv6).covers_some(only_ipv4(kLinks[0])));
  EXPECT_TRUE(any_of(Family::kIpv4).covers_some(only_ipv4(kLinks[0])));
}

TEST(Reach, OfAnAddressIsThatOneAlone) {
  EXPECT_EQ(covered(bound_to(ipv4(10, 0, 2, 7)), kLinks), (Texts{"10.0.2.7%eth2"}));
  EXPECT_EQ(covered(bound_to(ipv6(7), 2), kLinks), (Texts{"fe80::7%eth2"}));
  EXPECT_EQ(covered(bound_to(ipv6(8)), kLinks), Texts{});
  EXPECT_FALSE(bound_to(ipv4(10, 0, 2, 7)).covers_some(kLinks[0]));
}

TEST(Reach, TheBestHoldsOnMoreThanOneLink) {
  Link link = made_link(1, 7);
  link.addresses.insert(link.addresses.begin(), {ipv4(169, 254, 0, 7), 16});
  EXPECT_EQ(any_of(Family::kIpv4).best_of({link}), ipv4(10, 0, 1, 7));
  EXPECT_EQ(any_of(Family::kIpv6).best_of({link}), ipv6(7));
  link.addresses.push_back({kGlobal, 64});
  EXPECT_EQ(any_of(Family::kIpv6).best_of({made_link(2, 8), link}), kGlobal);
  EXPECT_EQ(bound_to(ipv4(169, 254, 0, 7)).best_of({link}), ipv4(169, 254, 0, 7));
}

TEST(Reach, WithoutANetworkThereIsNoBest) {
  const Link loopback{.index = 1, .name = "lo", .addresses = {{kLoopback, 8}}};
  EXPECT_EQ(any_of(Family::kIpv4).best_of({loopback}), std::nullopt);
  EXPECT_EQ(any_of(Family::kIpv4).best_of({}), std::nullopt);
  EXPECT_EQ(any_of(Family::kIpv6).best_of({only_ipv4(made_link(1, 7))}), std::nullopt);
  EXPECT_TRUE(any_of(Family::kIpv4).covers_some(loopback));  // announced there, where nothing else is
}

TEST(Reach, HostsOfOtherAddressesHaveOtherNames) {
  EXPECT_EQ(Reach().label(), "");
  EXPECT_EQ(any_of(Family::kIpv4).label(), "");
  EXPECT_EQ(any_of(Family::kIpv6).label(), "ipv6");
  EXPECT_EQ(bound_to(ipv4(10, 0, 2, 7)).label(), "10-0-2-7");
  EXPECT_EQ(bound_to(kGlobal).label(), "2001-db8--7");
}

}  // namespace
}  // namespace heaptap::network
