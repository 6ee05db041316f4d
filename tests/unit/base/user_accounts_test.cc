// Users and groups, of files that may be anything.
#include "common/base/user_accounts.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace heaptap::base {
namespace {

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "# a comment:x:1:1\n"
    "\n"
    "+::::::\n"
    "-nobody:x:65534:65534:::\n"
    "games:x:5:60:games:/usr/games:/usr/sbin/nologin\n"
    "man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\n"
    "6man:x:7:13\n"
    "second:x:6:99:the number of another one:/:/bin/sh\n"
    "man:x:100:100:the name of another one:/:/bin/sh\n"
    "1000:x:42:43:a name of digits:/:/bin/sh\n"
    "huge:x:99999999999:1:::\n"
    "none:x:4294967295:1:::\n"
    "nogroup:x:50:4294967295:::\n"
    "negative:x:-1:1:::\n"
    "short:x:51\n"
    "blank:x: 52:1:::\n"
    "last:x:53:54";

constexpr std::string_view kGroup =
    "root:x:0:\n"
    "disk:x:6:operator\n"
    "man:x:12:\n"
    "audio:x:29:games,man\n"
    "video:x:44:man,\n"
    "video2:x:44:man\n"
    "primary:x:60:games\n"
    "of-none:x:4294967295:man\n"
    "mann:x:45:xman,manx,ma,,n\n"
    "#man:x:46:man\n"
    "cut:x:47:last,man";

struct Expected {
  std::string_view word;
  uid_t user;
  gid_t group;
  std::vector<gid_t> groups;
};

TEST(UserAccounts, OfANameOrANumberTheGroupsAreTheUsersOwn) {
  const Expected all[] = {{"root", 0, 0, {}},           {"0", 0, 0, {}},
                          {"games", 5, 60, {29}},       {"5", 5, 60, {29}},
                          {"man", 6, 12, {29, 44, 47}}, {"6", 6, 12, {29, 44, 47}},
                          {"1000", 42, 43, {}},         {"42", 42, 43, {}},
                          {"6man", 7, 13, {}},          {"last", 53, 54, {47}}};
  for (const Expected& each : all) {
    const auto account = account_of(each.word, kPasswd, kGroup);
    ASSERT_TRUE(account.has_value()) << account.error().message;
    EXPECT_EQ(account->user, each.user) << each.word;
    EXPECT_EQ(account->group, each.group) << each.word;
    EXPECT_EQ(account->groups, each.groups) << each.word;
  }
}

TEST(UserAccounts, AGroupThatIsNamedIsTheOnlyOne) {
  const Expected all[] = {
      {"man:disk", 6, 6, {}}, {"man:60", 6, 60, {}}, {"7777:8888", 7777, 8888, {}}, {"7777:audio", 7777, 29, {}}};
  for (const Expected& each : all) {
    const auto account = account_of(each.word, kPasswd, kGroup);
    ASSERT_TRUE(account.has_value()) << account.error().message;
    EXPECT_EQ(account->user, each.user) << each.word;
    EXPECT_EQ(account->group, each.group) << each.word;
    EXPECT_TRUE(account->groups.empty());
  }
}

TEST(UserAccounts, WhatIsNotKnownIsRefused) {
  for (const std::string_view word :
       {"",      ":",     "nobody", "-nobody",     "+",    "huge",           "none", "nogroup",    "negative",
        "short", "blank", "#",      "man:nowhere", "man:", "man:4294967295", ":6",   "4294967295", "4294967295:6",
        "-1",    "6 ",    "0x6",    "man:12:13"}) {
    EXPECT_FALSE(account_of(word, kPasswd, kGroup).has_value()) << word;
  }
  const auto number = account_of("7777", kPasswd, kGroup);
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().message,
            "--user 7777: no user has this number, so its group is unknown: use --user 7777:GROUP");
  EXPECT_EQ(number.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(account_of("nobody", kPasswd, kGroup).error().message, "--user nobody: no such user");
  EXPECT_EQ(account_of("man:nowhere", kPasswd, kGroup).error().message, "--user man:nowhere: no such group");
}

TEST(UserAccounts, WithoutFilesNumbersAreEnough) {
  const auto account = account_of("6:7", "", "");
  ASSERT_TRUE(account.has_value());
  EXPECT_EQ(account->group, 7u);
  EXPECT_FALSE(account_of("6", "", "").has_value());
  EXPECT_FALSE(account_of("root", "", "").has_value());
}

TEST(UserAccounts, FilesMayBeAnything) {
  std::mt19937 random(5);
  const std::string bytes("ab:,0127\n#+-\0\xff", 14);
  for (int i = 0; i < 20'000; ++i) {
    std::string passwd;
    std::string group;
    for (auto count = random() % 60; count > 0; --count) passwd += bytes[random() % bytes.size()];
    for (auto count = random() % 60; count > 0; --count) group += bytes[random() % bytes.size()];
    for (const std::string_view word : {"a", "b:a", "0", "1:2", "ab"}) {
      const auto account = account_of(word, passwd, group);
      if (account) {
        EXPECT_NE(account->group, static_cast<gid_t>(-1));
      }
    }
  }
  std::string many;
  for (int number = 0; number < 70'000; ++number)
    many += "g" + std::to_string(number) + ":x:" + std::to_string(number + 7) + ":man\n";
  EXPECT_LE(groups_of(many.substr(0, 30'000), "man", 0).size(), 65536u);
}

}  // namespace
}  // namespace heaptap::base
