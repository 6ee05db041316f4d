#include "record/remote/resolve.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptap::remote {
namespace {

TEST(Resolve, GivesNumbers) {
  const auto number = resolve(*channel::parse_address("10.1.2.3:77"));
  ASSERT_TRUE(number.has_value());
  ASSERT_EQ(number->size(), 1u);
  EXPECT_EQ(number->front().to_text(), "10.1.2.3:77");

  const auto name = resolve(channel::Address::of_name("localhost", 77));
  ASSERT_TRUE(name.has_value()) << name.error().message;
  EXPECT_TRUE(name->front().is_loopback());
  EXPECT_EQ(name->front().port(), 77);

  const auto none = resolve(channel::Address::of_name("no-such-host.invalid", 77));  // RFC 6761
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("can't find the host 'no-such-host.invalid'"), std::string::npos);
}

}  // namespace
}  // namespace heaptap::remote
