#include "console/shell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/unique_fd.h"
#include "console/interrupts.h"

namespace heaptap::console {
namespace {

// A shell whose commands print what they are called with.
class ShellTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("shell_test." + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    for (const char* name : {"start", "status", "stop", "show"}) {
      shell.commands().add(Command{.name = name,
                                   .usage = name,
                                   .summary = std::string("what ") + name + " does",
                                   .help = "  More of it.\n",
                                   .run = [this, name](const Words& words) { return say(name, words); }});
    }
    shell.commands().add(Command{
        .name = "fail", .usage = "fail", .summary = "fails", .help = "", .run = [](const Words&) -> base::Result<> {
          return base::fail("no luck");
        }});
    shell.commands().add(Command{.name = "wait",
                                 .usage = "wait",
                                 .summary = "is interrupted",
                                 .help = "",
                                 .run = [](const Words&) -> base::Result<> { throw Interrupted(); }});
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  base::Result<> say(const std::string& name, const Words& words) {
    happened += name;
    for (const std::string& word : words) happened += " " + word;
    happened += ";";
    std::printf("%s\n", name.c_str());
    return {};
  }

  [[nodiscard]] std::string file(const char* name) const {
    std::ifstream input(folder / name);
    std::ostringstream text;
    text << input.rdbuf();
    return text.str();
  }

  std::filesystem::path folder;
  std::string happened;
  std::string printed;
  std::string complaints;
  std::string news;
  Shell shell{Shell::Surroundings{
      .prompt = [] { return std::string("> "); },
      .print = [this](std::string_view text) -> base::Result<> {
        printed += text;
        return {};
      },
      .complain = [this](std::string_view text) { complaints += text; },
      .news = {.descriptor = [] { return -1; }, .take = [this] { return std::exchange(news, ""); }}}};
};

TEST_F(ShellTest, NamesMayBeAbbreviatedWhereOneIsMeant) {
  EXPECT_EQ(shell.execute("sh leaks"), 0);
  EXPECT_EQ(shell.execute("stop"), 0);
  EXPECT_EQ(shell.execute("stat"), 0);
  EXPECT_EQ(happened, "show leaks;stop;status;");
  EXPECT_EQ(complaints, "");
}

TEST_F(ShellTest, AnAmbiguousNameNamesTheCandidates) {
  EXPECT_EQ(shell.execute("sta"), 2);
  EXPECT_EQ(complaints, "'sta' is ambiguous: start, status\n");
  EXPECT_EQ(happened, "");
}

TEST_F(ShellTest, AnUnknownNameIsMadeSafe) {
  EXPECT_EQ(shell.execute("x\x1b[2J"), 2);
  EXPECT_EQ(complaints.find('\x1b'), std::string::npos);
  EXPECT_NE(complaints.find("unknown command"), std::string::npos);
}

TEST_F(ShellTest, AScriptStopsAtTheFirstFailureWithItsStatus) {
  EXPECT_EQ(shell.run({"start", "fail", "stop"}), 125);
  EXPECT_EQ(happened, "start;");
  EXPECT_EQ(complaints, "no luck\n");
  EXPECT_EQ(shell.run({"nothing"}), 2);
  EXPECT_EQ(shell.run({"# nothing", "", "start"}), 0);
}

TEST_F(ShellTest, QuitEndsAScript) {
  EXPECT_EQ(shell.run({"start", "exit", "stop"}), 0);
  EXPECT_TRUE(shell.is_ended());
  EXPECT_EQ(happened, "start;");
}

TEST_F(ShellTest, AnInterruptedCommandEndsAlone) {
  EXPECT_EQ(shell.execute("wait"), 130);
  EXPECT_EQ(complaints, "interrupted\n");
  EXPECT_FALSE(shell.is_ended());
}

TEST_F(ShellTest, NewsComeBehindTheCommandsTheyHappenedIn) {
  shell.commands().add(Command{.name = "happen",
                               .usage = "happen",
                               .summary = "makes news",
                               .help = "",
                               .run = [this](const Words&) -> base::Result<> {
                                 news += "something\n";
                                 complaints += "(in happen)\n";
                                 return {};
                               }});
  EXPECT_EQ(shell.run({"happen", "fail"}), 125);
  EXPECT_EQ(complaints, "(in happen)\nsomething\nno luck\n");
}

TEST_F(ShellTest, AScriptIsReadToItsEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const base::UniqueFd input(ends[0]);
  base::UniqueFd output(ends[1]);
  const std::string script = "# comment\nstart\n\nshow a 'b c'";  // the last line without an end
  ASSERT_EQ(write(output.get(), script.data(), script.size()), static_cast<ssize_t>(script.size()));
  output.reset();
  EXPECT_EQ(shell.run_script(input.get()), 0);
  EXPECT_EQ(happened, "start;show a b c;");
}

TEST_F(ShellTest, OutputGoesIntoAFileThatIsNotThere) {
  const std::string path = (folder / "out").string();
  EXPECT_EQ(shell.execute("start > " + path), 0);
  EXPECT_EQ(file("out"), "start\n");
  EXPECT_EQ(shell.execute("stop > " + path), 2);
  EXPECT_NE(complaints.find("exists"), std::string::npos);
  EXPECT_EQ(shell.execute("stop >> " + path), 0);
  EXPECT_EQ(file("out"), "start\nstop\n");
  EXPECT_EQ(shell.execute("show >| " + path), 0);
  EXPECT_EQ(file("out"), "show\n");
  EXPECT_EQ(shell.execute("show > /dev/null"), 0);
}

TEST_F(ShellTest, ACommandThatFailsLeavesNoNewFile) {
  EXPECT_EQ(shell.execute("fail > " + (folder / "out").string()), 125);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(ShellTest, OutputGoesToACommandWhoseStatusCounts) {
  EXPECT_EQ(shell.execute("start | tr a-z A-Z > " + (folder / "out").string()), 0);
  EXPECT_EQ(file("out"), "START\n");
  EXPECT_EQ(shell.execute("start | grep -q start"), 0);
  EXPECT_EQ(shell.execute("start | grep -q stop"), 1);
  EXPECT_EQ(shell.execute("fail | cat"), 125);
  EXPECT_EQ(complaints, "no luck\n");
}

TEST_F(ShellTest, AFullDeviceIsAFailure) {
  EXPECT_EQ(shell.execute("start > /dev/full"), 125);
  EXPECT_NE(complaints.find("can't write"), std::string::npos);
  EXPECT_EQ(shell.execute("start > " + (folder / "out").string()), 0);
  EXPECT_EQ(file("out"), "start\n");  // and nothing of before
}

TEST_F(ShellTest, HelpListsAndExplains) {
  EXPECT_EQ(shell.execute("help"), 0);
  EXPECT_NE(printed.find("what start does"), std::string::npos);
  printed.clear();
  EXPECT_EQ(shell.execute("help stat"), 0);
  EXPECT_EQ(printed, "status\n  what status does\n  More of it.\n");
  EXPECT_EQ(shell.execute("help nothing"), 2);
}

TEST_F(ShellTest, CompletesCommandsAndWhatTheyTake) {
  EXPECT_EQ(shell.complete("st").words, (Words{"start", "status", "stop"}));
  EXPECT_EQ(shell.complete("help sh").words, Words{"show"});
  EXPECT_EQ(shell.complete("start x").words, Words());
  std::ofstream(folder / "file one");
  const std::string begun = (folder / "fi").string();
  EXPECT_EQ(shell.complete("start > " + begun).words, Words{(folder / "file one").string()});
}

}  // namespace
}  // namespace heaptap::console
