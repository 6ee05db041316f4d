#include "apps/heaptap/console/console_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::app {
namespace {

using Kind = Choice::Kind;

class Choices : public testing::Test {
 protected:
  Choice of(std::string_view line) const { return choice_of(line, offers_); }

  std::vector<client::Offer> offers_{{.pid = 4711, .program = "shop", .machine = ""},
                                     {.pid = 2, .program = "gate", .machine = ""},
                                     {.pid = 4713, .program = "cat", .machine = ""}};
};

TEST_F(Choices, AreMadeByNumberOrPid) {
  EXPECT_EQ(of("1").kind, Kind::kOffer);
  EXPECT_EQ(of("1").offer, 0u);
  EXPECT_EQ(of(" 3\t").offer, 2u);
  EXPECT_EQ(of("4713").kind, Kind::kOffer);
  EXPECT_EQ(of("4713").offer, 2u);
  EXPECT_EQ(of("2").offer, 1u) << "a number of the list, not a PID";
}

TEST_F(Choices, NoneAndQuit) {
  EXPECT_EQ(of("none").kind, Kind::kNone);
  for (const char* word : {"q", "quit", "exit"}) EXPECT_EQ(of(word).kind, Kind::kQuit) << word;
}

TEST_F(Choices, OtherAnswersGetAReason) {
  for (const char* line : {"0", "4", "999", "-1", "x", "attach 7"}) {
    const Choice choice = of(line);
    EXPECT_EQ(choice.kind, Kind::kExplain) << line;
    EXPECT_EQ(choice.text.find("'" + std::string(line) + "' is none of these: a number from 1 to 3"), 0u)
        << choice.text;
  }
  EXPECT_EQ(of("\x1b[2J").text.find('\x1b'), std::string::npos);
}

TEST_F(Choices, HelpIsTheSameWithoutAReproach) {
  for (const char* line : {"", "  ", "help", "?"}) {
    EXPECT_EQ(of(line).kind, Kind::kExplain) << line;
    EXPECT_EQ(of(line).text.find("a number from 1 to 3"), 0u) << of(line).text;
    EXPECT_NE(of(line).text.find("`none` begins without a recording"), std::string::npos) << of(line).text;
  }
}

}  // namespace
}  // namespace heaptap::app
