// Addresses of channels: what is written is understood, or refused with what would be right.
#include "common/channel/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/channel/security.h"

namespace heaptap::channel {
namespace {

struct Case {
  std::string written;
  std::string understood;
  bool is_loopback;
};

TEST(Address, IsUnderstoodAndWrittenBack) {
  const std::vector<Case> cases = {
      {"unix:/run/a.sock", "/run/a.sock", true},
      {"unix:a.sock", "unix:a.sock", true},
      {"./a:7.sock", "./a:7.sock", true},
      {"tcp/a", "unix:tcp/a", true},
      {"unix:.2:1", "unix:.2:1", true},
      {"unix:tcp:/a", "unix:tcp:/a", true},
      {"unix:unix:a", "unix:unix:a", true},
      {"tcp:tcp:7", "tcp:tcp:7", false},
      {"tcp:unix:7", "tcp:unix:7", false},
      {"7000", "127.0.0.1:7000", true},
      {":7000", "127.0.0.1:7000", true},
      {"tcp:7000", "127.0.0.1:7000", true},
      {"tcp::0", "127.0.0.1:0", true},
      {"localhost:65535", "127.0.0.1:65535", true},
      {"127.8.9.10:1", "127.8.9.10:1", true},
      {"128.0.0.1:1", "128.0.0.1:1", false},
      {"0.0.0.0:7000", "0.0.0.0:7000", false},
      {"tcp:192.168.7.2:7000", "192.168.7.2:7000", false},
      {"[::1]:7000", "[::1]:7000", true},
      {"tcp:[0:0::1]:7000", "[::1]:7000", true},
      {"[::]:7000", "[::]:7000", false},
      {"[2001:DB8::7]:7000", "[2001:db8::7]:7000", false},
      {"[::ffff:127.0.0.1]:7000", "[::ffff:127.0.0.1]:7000", true},
      {"[::ffff:10.0.0.1]:7000", "[::ffff:10.0.0.1]:7000", false},
      {"[fe80::1%1]:7000", "[fe80::1%1]:7000", false},
      {"[fe80::1%lo]:7000", "[fe80::1%1]:7000", false},
      {"board-7.lan:7000", "board-7.lan:7000", false},
  };
  for (const Case& known : cases) {
    const auto address = parse_address(known.written);
    ASSERT_TRUE(address.has_value()) << known.written << ": " << address.error().message;
    EXPECT_EQ(address->to_text(), known.understood) << known.written;
    EXPECT_EQ(address->is_loopback(), known.is_loopback) << known.written;
    EXPECT_EQ(parse_address(address->to_text())->to_text(), known.understood);
  }
}

TEST(Address, IsRefusedWithWhatWouldBeRight) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "no address given: write HOST:PORT"},
      {"unix:", "has no path: write unix:PATH"},
      {std::string("/") + std::string(107, 'a'), "too long for a UNIX socket (108 bytes, at most 107)"},
      {std::string("unix:") + std::string("a\0b", 3), "NUL"},
      {"board", "'board' has no port"},
      {"tcp:", "has no port"},
      {"65536", "'65536' is not a port (a number from 0 to 65535)"},
      {":", "'' is not a port"},
      {"host:http", "'http' is not a port"},
      {"host:-1", "'-1' is not a port"},
      {"host:+1", "'+1' is not a port"},
      {"host: 1", "' 1' is not a port"},
      {"host:99999999999999999999", "is not a port"},
      {"::1:7000", "write an IPv6 address in brackets"},
      {"[::1]", "no port after its brackets"},
      {"[::1]7000", "no port after its brackets"},
      {"[::1:7000", "no port after its brackets"},
      {"[::g]:7000", "'::g' is not an IPv6 address"},
      {std::string("[") + std::string(1000, '1') + "]:7000", "is not an IPv6 address"},
      {"[127.0.0.1]:7000", "is not an IPv6 address"},
      {"[fe80::1]:7000", "add the interface"},
      {"[fe80::1%nosuch0]:7000", "no network interface 'nosuch0'"},
      {"[fe80::1%]:7000", "no network interface ''"},
      {"[fe80::1%0]:7000", "no network interface '0'"},
      {"300.1.1.1:7000", "'300.1.1.1' is not an IPv4 address"},
      {"1.2.3:7000", "is not an IPv4 address"},
      {"ho st:7000", "is not a host name"},
      {"-host:7000", "is not a host name"},
      {"h\x1b[0m:7000", "is not a host name"},
      {std::string(254, 'a') + ":7000", "is not a host name"},
  };
  for (const auto& [written, expected] : cases) {
    const auto address = parse_address(written);
    ASSERT_FALSE(address.has_value()) << written;
    EXPECT_NE(address.error().message.find(expected), std::string::npos) << written << ": " << address.error().message;
  }
}

TEST(Address, IsWhatTheKernelTakes) {
  const auto file = parse_address("/run/a.sock")->to_socket();
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->storage.ss_family, AF_UNIX);
  EXPECT_STREQ(reinterpret_cast<const sockaddr_un*>(&file->storage)->sun_path, "/run/a.sock");

  const auto number = parse_address("10.1.2.3:77")->to_socket();
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(reinterpret_cast<const sockaddr_in*>(&number->storage)->sin_port, htons(77));

  const auto scoped = parse_address("[fe80::1%7]:77");
  ASSERT_TRUE(scoped.has_value());
  const auto name = scoped->to_socket();
  EXPECT_EQ(reinterpret_cast<const sockaddr_in6*>(&name->storage)->sin6_scope_id, 7u);
  EXPECT_EQ(Address::of_socket(name->get())->to_text(), "[fe80::1%7]:77");

  EXPECT_FALSE(parse_address("board:77")->to_socket().has_value());
}

TEST(Address, BelongsToANetwork) {
  const auto network = [](const char* text) { return parse_address(text)->network(); };
  EXPECT_EQ(network("10.1.2.3:77"), network("10.1.2.3:78"));
  EXPECT_NE(network("10.1.2.3:77"), network("10.1.2.4:77"));
  EXPECT_EQ(network("[2001:db8::1]:77"), network("[2001:db8::ffff:1]:77"));
  EXPECT_NE(network("[2001:db8::1]:77"), network("[2001:db8:0:1::1]:77"));
  EXPECT_EQ(network("[::ffff:10.1.2.3]:77"), network("10.1.2.3:77"));
}

TEST(Security, OverTcpNeedsATokenOrKeys) {
  EXPECT_TRUE(check({}, *parse_address("/run/a.sock")).has_value());
  for (const char* const text : {":7000", "[::1]:7000", "192.168.7.2:7000", "board:7000"}) {
    const Address address = *parse_address(text);
    const auto refused = check({}, address);
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_NE(refused.error().message.find("heaptap pair"), std::string::npos);
    Security security;
    security.token = *Token::from_text(*Token::make_text(), "a test");
    EXPECT_TRUE(check(security, address).has_value()) << text;
    security = {};
    security.keys = Credentials{.own = *KeyPair::generate(), .trusted = {}};
    EXPECT_FALSE(check(security, address).has_value()) << text;
    security.keys->trusted.push_back({Fingerprint::of(security.keys->own.public_key()), "board"});
    EXPECT_TRUE(check(security, address).has_value()) << text;
  }
}

TEST(Security, KnowsTargetsByTheirAddressWithoutAPort) {
  EXPECT_EQ(host_of("192.168.7.2:7421"), "192.168.7.2");
  EXPECT_EQ(host_of("tcp:192.168.7.2:7421"), "192.168.7.2");
  EXPECT_EQ(host_of("192.168.7.2"), "192.168.7.2");
  EXPECT_EQ(host_of("board"), "board");
  EXPECT_EQ(host_of("board.local:1"), "board.local");
  EXPECT_EQ(host_of("7421"), "127.0.0.1");
  EXPECT_EQ(host_of("localhost:7421"), "127.0.0.1");
  EXPECT_EQ(host_of("[2001:db8::7]:7421"), "[2001:db8::7]");
  EXPECT_EQ(host_of("[2001:db8::7]"), "[2001:db8::7]");
  EXPECT_EQ(host_of("2001:db8::7"), "[2001:db8::7]");
  EXPECT_EQ(host_of("/run/heaptap.sock"), "");
}

}  // namespace
}  // namespace heaptap::channel
