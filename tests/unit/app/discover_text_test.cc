// How services that were found are shown: as a table, as lines, as JSON. Nothing in them is trusted.
#include "apps/heaptap/discovery/discover_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/discovery/service.h"

namespace heaptap::app {
namespace {

using discovery::Family;
using discovery::FoundService;
using discovery::IpAddress;

const IpAddress kFour{.family = Family::kIpv4, .bytes = {10, 0, 0, 7}};
const IpAddress kSix{.family = Family::kIpv6, .bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}};

FoundService board() {
  return {.name = "board",
          .host = "board-heaptap.local",
          .port = 5000,
          .addresses = {{kFour, "eth0"}, {kSix, "eth0"}},
          .text = discovery::text_data(
              {.program = "shop", .cpu = "x86_64", .version = "1.0", .is_secure = true, .has_token = true})};
}

TEST(DiscoverText, ATableHasTheBestAddress) {
  FoundService six = board();
  six.name = "six";
  six.addresses = {{kSix, "eth0"}};
  EXPECT_EQ(services_as_table({board(), six}, 0),
            "  name   host                 address              program  CPU     version  secure\n"
            "  board  board-heaptap.local  10.0.0.7:5000        shop     x86_64  1.0      yes\n"
            "  six    board-heaptap.local  [fe80::7%eth0]:5000  shop     x86_64  1.0      yes\n");
}

const std::string kWarning =
    "heaptap: announcements are not authenticated, anybody on this network can make one; a paired key (heaptap pair) "
    "or a token is proof\n";

TEST(DiscoverText, TheCommandIsOfTheOneThatWantsAToken) {
  FoundService bare = board();
  bare.addresses.clear();
  EXPECT_EQ(advice_on({bare, board()}),
            "heaptap: to record there: heaptap run -H 10.0.0.7:5000 --token-file FILE -- PROGRAM\n" + kWarning);
  FoundService six = board();
  six.addresses.erase(six.addresses.begin());
  EXPECT_EQ(advice_on({six}),
            "heaptap: to record there: heaptap run -H '[fe80::7%eth0]:5000' --token-file FILE -- PROGRAM\n" + kWarning);
  EXPECT_EQ(advice_on({bare}), kWarning);
  EXPECT_EQ(advice_on({}), "");
  // What is recorded there already is taken over.
  FoundService begun = board();
  begun.text = discovery::text_data({.program = "shop", .is_secure = true, .has_token = true, .has_begun = true});
  EXPECT_EQ(advice_on({begun}),
            "heaptap: to record there: heaptap connect 10.0.0.7:5000 --token-file FILE\n" + kWarning);
}

TEST(DiscoverText, NoneOfSeveralIsChosen) {
  FoundService other = board();
  other.name = "other";
  EXPECT_EQ(advice_on({other, board()}),
            "heaptap: to record on one of them: heaptap run -H ADDRESS --token-file FILE -- PROGRAM\n" + kWarning);
}

TEST(DiscoverText, NothingIsOfferedOfOneWithoutAToken) {
  FoundService open = board();
  open.name = "o\x1bpen";
  for (const std::string& text :
       {discovery::text_data({.is_secure = false}), std::string("\x08secure=2"), std::string()}) {
    open.text = text;
    const std::string advice = advice_on({open});
    EXPECT_EQ(advice, "heaptap: 'o\\x1bpen' doesn't announce that it authenticates hosts: don't trust it\n" + kWarning);
    EXPECT_NE(advice_on({open, board()}).find("heaptap run -H 10.0.0.7:5000 --token-file FILE"), std::string::npos);
  }
}

TEST(DiscoverText, WhatIsNotSaidIsNotKnown) {
  const FoundService bare{.name = "bare", .host = "h.local", .port = 1, .addresses = {}, .text = {}};
  EXPECT_EQ(service_as_line("found", bare), "found    bare  h.local  ?:1  -  -  -  -\n");
  const auto json = nlohmann::json::parse(services_as_json({bare}));
  EXPECT_EQ(json["format"], "heaptap-discover");
  const auto& service = json["services"][0];
  EXPECT_TRUE(service["addresses"].empty());
  for (const char* key : {"program", "cpu", "version", "secure", "begun"}) EXPECT_TRUE(service[key].is_null()) << key;
}

TEST(DiscoverText, NamesOfTheNetworkAreHarmless) {
  FoundService evil = board();
  evil.name = "a\x1b[31m\n\xff";
  evil.text = discovery::text_data({.program = "\x1b]0;x\a"});
  const std::string line = service_as_line("found", evil);
  EXPECT_NE(line.find("a\\x1b[31m\\x0a\\xff"), std::string::npos) << line;
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::string json = service_as_json_line("gone", evil);
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(json)["event"], "gone");
}

}  // namespace
}  // namespace heaptap::app
