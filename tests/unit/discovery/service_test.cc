// The words of a service's TXT record.
#include "common/discovery/service.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptap::discovery {
namespace {

using namespace std::string_literals;

TEST(ServiceText, KeepsItsWords) {
  const std::string data =
      text_data({.program = std::string(300, 'x'), .cpu = "x86_64", .version = "1.2", .is_secure = true, .id = "07"});
  EXPECT_EQ(text_value(data, "txtvers"), "1");
  EXPECT_EQ(text_value(data, "PROGRAM"), std::string(100, 'x'));
  EXPECT_EQ(text_value(data, "cpu"), "x86_64");
  EXPECT_EQ(text_value(data, "version"), "1.2");
  EXPECT_EQ(text_value(data, "secure"), "1");
  EXPECT_EQ(text_value(data, "other"), std::nullopt);
}

TEST(ServiceText, OfOthersMayBeAnything) {
  EXPECT_EQ(text_value("\xff"
                       "a=b",
                       "a"),
            "b");                              // longer than it is
  EXPECT_EQ(text_value("\1a\3a=b", "a"), "");  // without a value; the first one counts
  EXPECT_EQ(text_value("\0\2=b\3a=c"s, "a"), "c");
  EXPECT_EQ(text_value("", "a"), std::nullopt);
}

TEST(ServiceText, IsCutBetweenCharacters) {
  EXPECT_EQ(cut_to("a\xc3\xa4", 2), "a");
  EXPECT_EQ(cut_to("a\xc3\xa4", 3), "a\xc3\xa4");
  EXPECT_EQ(cut_to("\xa4\xa4\xa4", 2), "");
}

}  // namespace
}  // namespace heaptap::discovery
