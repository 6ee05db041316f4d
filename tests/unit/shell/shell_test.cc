#include "views/shell/shell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/unique_fd.h"
#include "views/shell/interrupts.h"

namespace heaptap::shell {
namespace {

// A shell whose commands print what they are called with.
class ShellTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("shell_test." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
    for (const char* name : {"start", "status", "stop", "show"}) {
      shell_.commands().add(Command{.name = name,
                                    .usage = name,
                                    .summary = std::string("what ") + name + " does",
                                    .help = "  More of it.\n",
                                    .run = [this, name](const Words& words) { return say(name, words); }});
    }
    shell_.commands().add(Command{
        .name = "fail", .usage = "fail", .summary = "fails", .help = "", .run = [](const Words&) -> base::Result<> {
          return base::fail("no luck");
        }});
    shell_.commands().add(Command{.name = "wait",
                                  .usage = "wait",
                                  .summary = "is interrupted",
                                  .help = "",
                                  .run = [](const Words&) -> base::Result<> { throw Interrupted(); }});
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  base::Result<> say(const std::string& name, const Words& words) {
    happened_ += name;
    for (const std::string& word : words) happened_ += " " + word;
    happened_ += ";";
    std::printf("%s\n", name.c_str());
    return {};
  }

  [[nodiscard]] std::string file(const char* name) const {
    std::ifstream input(directory_ / name);
    std::ostringstream text;
    text << input.rdbuf();
    return text.str();
  }

  std::filesystem::path directory_;
  std::string happened_;
  std::string printed_;
  std::string complaints_;
  std::string news_;
  Shell shell_{
      Shell::Callbacks{.prompt = [] { return std::string("> "); },
                       .print = [this](std::string_view text) -> base::Result<> {
                         printed_ += text;
                         return {};
                       },
                       .complain = [this](std::string_view text) { complaints_ += text; },
                       .news = {.descriptor = [] { return -1; }, .take = [this] { return std::exchange(news_, ""); }}}};
};

TEST_F(ShellTest, NamesMayBeAbbreviatedWhereOneIsMeant) {
  EXPECT_EQ(shell_.execute("sh leaks"), 0);
  EXPECT_EQ(shell_.execute("stop"), 0);
  EXPECT_EQ(shell_.execute("stat"), 0);
  EXPECT_EQ(happened_, "show leaks;stop;status;");
  EXPECT_EQ(complaints_, "");
}

TEST_F(ShellTest, AnAmbiguousNameNamesTheCandidates) {
  EXPECT_EQ(shell_.execute("sta"), 2);
  EXPECT_EQ(complaints_, "'sta' is ambiguous: start, status\n");
  EXPECT_EQ(happened_, "");
}

TEST_F(ShellTest, AnUnknownNameIsMadeSafe) {
  EXPECT_EQ(shell_.execute("x\x1b[2J"), 2);
  EXPECT_EQ(complaints_.find('\x1b'), std::string::npos);
  EXPECT_NE(complaints_.find("unknown command"), std::string::npos);
}

TEST_F(ShellTest, AnUnknownNameThatIsNearlyOneNamesThat) {
  EXPECT_EQ(shell_.execute("strat"), 2);
  EXPECT_EQ(complaints_, "unknown command 'strat' (did you mean start?): `help` lists the commands\n");
}

TEST_F(ShellTest, AScriptStopsAtTheFirstFailureWithItsStatus) {
  EXPECT_EQ(shell_.run({"start", "fail", "stop"}), 125);
  EXPECT_EQ(happened_, "start;");
  EXPECT_EQ(complaints_, "no luck\n");
  EXPECT_EQ(shell_.run({"nothing"}), 2);
  EXPECT_EQ(shell_.run({"# nothing", "", "start"}), 0);
}

TEST_F(ShellTest, QuitEndsAScript) {
  EXPECT_EQ(shell_.run({"start", "exit", "stop"}), 0);
  EXPECT_TRUE(shell_.is_ended());
  EXPECT_EQ(happened_, "start;");
}

TEST_F(ShellTest, AnInterruptedCommandEndsAlone) {
  EXPECT_EQ(shell_.execute("wait"), 130);
  EXPECT_EQ(complaints_, "interrupted\n");
  EXPECT_FALSE(shell_.is_ended());
}

TEST_F(ShellTest, NewsComeBehindTheCommandsTheyHappenedIn) {
  shell_.commands().add(Command{.name = "happen",
                                .usage = "happen",
                                .summary = "makes news",
                                .help = "",
                                .run = [this](const Words&) -> base::Result<> {
                                  news_ += "something\n";
                                  complaints_ += "(in happen)\n";
                                  return {};
                                }});
  EXPECT_EQ(shell_.run({"happen", "fail"}), 125);
  EXPECT_EQ(complaints_, "(in happen)\nsomething\nno luck\n");
}

TEST_F(ShellTest, AScriptIsReadToItsEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const base::UniqueFd input(ends[0]);
  base::UniqueFd output(ends[1]);
  const std::string script = "# comment\nstart\n\nshow a 'b c'";  // the last line without an end
  ASSERT_EQ(write(output.get(), script.data(), script.size()), static_cast<ssize_t>(script.size()));
  output.reset();
  EXPECT_EQ(shell_.run_script(input.get()), 0);
  EXPECT_EQ(happened_, "start;show a b c;");
}

TEST_F(ShellTest, OutputGoesIntoAFileThatIsNotThere) {
  const std::string path = (directory_ / "out").string();
  EXPECT_EQ(shell_.execute("start > " + path), 0);
  EXPECT_EQ(file("out"), "start\n");
  EXPECT_EQ(shell_.execute("stop > " + path), 2);
  EXPECT_NE(complaints_.find("exists"), std::string::npos);
  EXPECT_EQ(shell_.execute("stop >> " + path), 0);
  EXPECT_EQ(file("out"), "start\nstop\n");
  EXPECT_EQ(shell_.execute("show >| " + path), 0);
  EXPECT_EQ(file("out"), "show\n");
  EXPECT_EQ(shell_.execute("show > /dev/null"), 0);
}

TEST_F(ShellTest, ACommandThatFailsLeavesNoNewFile) {
  EXPECT_EQ(shell_.execute("fail > " + (directory_ / "out").string()), 125);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
}

TEST_F(ShellTest, OutputGoesToACommandWhoseStatusCounts) {
  EXPECT_EQ(shell_.execute("start | tr a-z A-Z > " + (directory_ / "out").string()), 0);
  EXPECT_EQ(file("out"), "START\n");
  EXPECT_EQ(shell_.execute("start | grep -q start"), 0);
  EXPECT_EQ(shell_.execute("start | grep -q stop"), 1);
  EXPECT_EQ(shell_.execute("fail | cat"), 125);
  EXPECT_EQ(complaints_, "no luck\n");
}

TEST_F(ShellTest, AFullDeviceIsAFailure) {
  EXPECT_EQ(shell_.execute("start > /dev/full"), 125);
  EXPECT_NE(complaints_.find("can't write"), std::string::npos);
  EXPECT_EQ(shell_.execute("start > " + (directory_ / "out").string()), 0);
  EXPECT_EQ(file("out"), "start\n");  // and nothing of before
}

TEST_F(ShellTest, HelpListsAndExplains) {
  EXPECT_EQ(shell_.execute("help"), 0);
  EXPECT_NE(printed_.find("what start does"), std::string::npos);
  printed_.clear();
  EXPECT_EQ(shell_.execute("help stat"), 0);
  EXPECT_EQ(printed_, "status\n  what status does\n  More of it.\n");
  EXPECT_EQ(shell_.execute("help nothing"), 2);
}

TEST_F(ShellTest, CompletesCommandsAndWhatTheyTake) {
  EXPECT_EQ(shell_.complete("st").words, (Words{"start", "status", "stop"}));
  EXPECT_EQ(shell_.complete("help sh").words, Words{"show"});
  EXPECT_EQ(shell_.complete("start x").words, Words());
  const std::ofstream made(directory_ / "file one");
  const std::string begun = (directory_ / "fi").string();
  EXPECT_EQ(shell_.complete("start > " + begun).words, Words{(directory_ / "file one").string()});
}

}  // namespace
}  // namespace heaptap::shell
