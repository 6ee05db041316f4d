#include "common/base/ip_text.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace heaptap::base {
namespace {

using Ipv6 = std::array<uint8_t, kIpv6TextBytes>;

std::string by_libc(const Ipv6& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, address.data(), text.data(), text.size());
}

std::string again(const char* text) {
  Ipv6 address{};
  EXPECT_EQ(inet_pton(AF_INET6, text, address.data()), 1) << text;
  EXPECT_EQ(by_libc(address), ipv6_text(address));
  return ipv6_text(address);
}

TEST(IpTextTest, Ipv4IsFourNumbers) {
  EXPECT_EQ(ipv4_text(std::array<uint8_t, 4>{192, 168, 7, 2}), "192.168.7.2");
  EXPECT_EQ(ipv4_text(std::array<uint8_t, 4>{0, 0, 0, 255}), "0.0.0.255");
}

TEST(IpTextTest, TheFirstOfTheLongestRunsOfZerosIsLeftOut) {
  for (const char* text : {"::", "::1", "1::", "fe80::1", "2001:db8::1:0:0:1", "2001:db8:0:1:1:1:1:1",
                           "1:2:3:4:5:6:7:8", "1:0:0:2::3", "::1:2:3:4:5:6:7", "1:2:3:4:5:6:7:0", "0:1:2:3:4:5:6:7"})
    EXPECT_STREQ(again(text).c_str(), by_libc([&] {
                                        Ipv6 address{};
                                        inet_pton(AF_INET6, text, address.data());
                                        return address;
                                      }())
                                          .c_str());
  EXPECT_EQ(again("fe80:0:0:0:0:0:0:1"), "fe80::1");
  EXPECT_EQ(again("1:0:0:2:0:0:0:3"), "1:0:0:2::3");
}

TEST(IpTextTest, Ipv4WithinIpv6) {
  EXPECT_EQ(again("::ffff:192.168.7.2"), "::ffff:192.168.7.2");
  EXPECT_EQ(again("::192.168.7.2"), "::192.168.7.2");
  EXPECT_EQ(again("::fffe:1:2"), "::fffe:1:2");
}

TEST(IpTextTest, WritesAsTheLibraryDoes) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    Ipv6 address{};
    const auto zeros = static_cast<unsigned>(random());  // a bit for each group
    for (size_t at = 0; at < address.size(); ++at)
      if ((zeros >> (at / 2) & 1) == 0) address[at] = static_cast<uint8_t>(random());
    ASSERT_EQ(ipv6_text(address), by_libc(address));
  }
}

}  // namespace
}  // namespace heaptap::base
