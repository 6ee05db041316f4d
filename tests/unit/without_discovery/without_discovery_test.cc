// A build without multicast DNS: what needs it is a wrong command line that says why, and no help lists it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "apps/heaptap/commands/announced_target.h"
#include "apps/heaptap/commands/command_line.h"
#include "apps/heaptap/commands/host_announcement.h"
#include "apps/heaptap/completions/completions.h"
#include "apps/target/announced_host.h"
#include "apps/target/announcement.h"
#include "apps/target/discovery.h"

namespace heaptap {
namespace {

using testing::HasSubstr;
using testing::Not;

template <typename Value>
void expect_wrong(const base::Result<Value>& result) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, base::ErrorKind::kUsage);
  EXPECT_THAT(result.error().message, HasSubstr("no multicast DNS"));
}

std::string help_of(const std::vector<std::string>& arguments) {
  const auto parsed = app::parse_command_line(arguments);
  return parsed ? std::get<app::PrintText>(*parsed).text : "";
}

TEST(WithoutDiscovery, HeaptapSaysSo) {
  expect_wrong(app::parse_command_line({"discover"}));
  expect_wrong(app::parse_command_line({"discover", "--help"}));
  expect_wrong(app::parse_command_line({"help", "discover"}));
  expect_wrong(app::security_of_named("board", ""));
  expect_wrong(app::find_announced("board"));
  expect_wrong(app::HostAnnouncement::check());
}

TEST(WithoutDiscovery, HelpAndCompletionsDontListIt) {
  EXPECT_THAT(help_of({"help"}), HasSubstr("\n  heaptap connect "));
  EXPECT_THAT(help_of({"help"}), HasSubstr("\n  heaptap pair "));
  EXPECT_THAT(help_of({"help"}), Not(HasSubstr("heaptap discover")));
  for (const app::KnownCommand& command : app::known_commands()) {
    EXPECT_NE(command.name, "discover");
    for (const app::KnownOption& option : command.options) {
      EXPECT_EQ(std::ranges::find(option.words, "discover"), option.words.end()) << command.name;
    }
  }
}

TEST(WithoutDiscovery, TheTargetSaysSo) {
  target::Announcement announcement;
  for (const auto& refused : {target::check_discovery("--announce"),
                              announcement.begin(*channel::parse_address("9.9.9.9:1"), false, false)}) {
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, base::ErrorKind::kUsage);
    EXPECT_THAT(refused.error().message, HasSubstr("--announce needs multicast DNS, which this build"));
  }
  EXPECT_THAT(std::string(target::kDiscoveryHelp.connect), HasSubstr("  connect ADDRESS  "));
  EXPECT_EQ(target::kDiscoveryHelp.announce, "");
  EXPECT_FALSE(announcement.is_heard());
  EXPECT_EQ(announcement.longest_wait_ms(100), 100);
}

}  // namespace
}  // namespace heaptap
