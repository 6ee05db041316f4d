#include "views/push/destination.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptap::push {
namespace {

Destination parsed(const std::string& text) {
  auto destination = parse_destination(text);
  EXPECT_TRUE(destination) << text;
  return destination.value_or(Destination{});
}

std::string error_of(const std::string& text) {
  const auto destination = parse_destination(text);
  if (destination) return "none: " + destination->url;
  EXPECT_EQ(destination.error().kind, base::ErrorKind::kUsage) << text;
  return destination.error().message;
}

TEST(ADestination, IsPyroscopesPathBelowTheAddress) {
  const Destination plain = parsed("http://store:4040");
  EXPECT_EQ(plain.protocol, Protocol::kPyroscope);
  EXPECT_EQ(plain.url, "http://store:4040/push.v1.PusherService/Push");
  EXPECT_EQ(plain.shown, "http://store:4040");
  EXPECT_EQ(parsed("https://store/tenant/").url, "https://store/tenant/push.v1.PusherService/Push");
  EXPECT_EQ(parsed("pyroscope+https://store").url, "https://store/push.v1.PusherService/Push");
  EXPECT_EQ(parsed("https://store/push.v1.PusherService/Push").url, "https://store/push.v1.PusherService/Push");
}

TEST(ADestination, IsParcasIfThePrefixSaysSo) {
  const Destination parca = parsed("parca+http://store:7070");
  EXPECT_EQ(parca.protocol, Protocol::kParca);
  EXPECT_EQ(parca.url, "http://store:7070/api/profiles/writeraw");
}

TEST(ADestination, IsAnOpenTelemetryCollectorsIfThePrefixSaysSo) {
  const Destination otlp = parsed("otlp+http://[::1]:4318/");
  EXPECT_EQ(otlp.protocol, Protocol::kOtlp);
  EXPECT_EQ(otlp.url, "http://[::1]:4318/v1development/profiles");
}

TEST(ADestination, KnowsWhetherOthersCanReadWhatIsSent) {
  EXPECT_TRUE(parsed("https://store").is_encrypted);
  EXPECT_FALSE(parsed("http://store").is_encrypted);
  for (const char* const host : {"localhost", "127.0.0.1", "127.1.2.3", "[::1]", "localhost:80", "[::1]:80"})
    EXPECT_TRUE(parsed("http://" + std::string(host)).is_loopback) << host;
  for (const char* const host : {"store", "127.0.0.1.example.org", "localhost.example.org", "[fe80::1]", "128.0.0.1",
                                 "127.0.0.999", "127.0.0.0.1", "127...1"})
    EXPECT_FALSE(parsed("http://" + std::string(host)).is_loopback) << host;
}

TEST(ADestination, HasNoPasswordWhichIsNotRepeated) {
  for (const char* const text : {"http://joe:secret@store", "https://joe:secret@store:80/a", "http://store/@secret"}) {
    const std::string why = error_of(text);
    EXPECT_EQ(why.find("secret"), std::string::npos) << why;
    EXPECT_NE(why.find("HEAPTAP_PUSH_TOKEN"), std::string::npos) << why;
  }
}

TEST(ADestination, IsRefusedWhereItIsNoAddress) {
  for (const char* const text :
       {"", "store:4040", "ftp://store", "zip+http://store", "http://", "http:///a", "http://:80", "http://a b",
        "http://store:", "http://store:0", "http://store:65536", "http://store:x", "http://a\\b", "http://[::1",
        "http://store/?token=1", "http://store/#a", "http://store/a\nb", "http://-a", "HTTP://store"}) {
    const std::string why = error_of(text);
    EXPECT_NE(why.find("write http://HOST:PORT"), std::string::npos) << text << ": " << why;
  }
}

}  // namespace
}  // namespace heaptap::push
