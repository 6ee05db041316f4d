// The program debuginfod-find, in whose place scripts are run.
#include "analysis/symbols/debuginfod_find.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace heaptap::symbols {
namespace {

class DebuginfodFindTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/heaptap-find-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
  }
  ~DebuginfodFindTest() override { std::filesystem::remove_all(directory_); }

  std::string script(const std::string& text, mode_t mode = 0755) {
    std::string path = directory_ + "/debuginfod-find";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  base::Result<std::string> run(const std::string& text, const std::function<bool()>& goes_on = [] { return true; }) {
    return run_debuginfod_find(
        {.program = script(text), .build_id = "\x01\xab", .max_bytes = 4096, .silence = std::chrono::seconds(15)},
        goes_on);
  }

  std::string directory_;
};

TEST_F(DebuginfodFindTest, GivesThePathThatIsPrinted) {
  EXPECT_EQ(*run(R"(echo warning >&2; echo "/cache/$1 $2/$DEBUGINFOD_TIMEOUT $DEBUGINFOD_MAXSIZE")"),
            "/cache/debuginfo 01ab/15 4096");
}

TEST_F(DebuginfodFindTest, KeepsTheLimitsOfTheUser) {
  setenv("DEBUGINFOD_TIMEOUT", "3", 1);
  EXPECT_EQ(*run(R"(echo "/$DEBUGINFOD_TIMEOUT")"), "/3");
  unsetenv("DEBUGINFOD_TIMEOUT");
}

TEST_F(DebuginfodFindTest, ReadsNothingFromTheTerminal) { EXPECT_EQ(*run("cat; echo /x"), "/x"); }

TEST_F(DebuginfodFindTest, FailsWhereTheProgramFails) {
  const auto found = run("echo /x; exit 3");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("exited with 3"), std::string::npos) << found.error().message;
}

TEST_F(DebuginfodFindTest, FailsWhereNoPathIsPrinted) {
  for (const char* const text : {"", "echo", "echo relative/path", "echo /a; echo /b", R"(printf '/a\000b')", "yes /x"})
    EXPECT_FALSE(run(text)) << text;
}

TEST_F(DebuginfodFindTest, FailsWithoutTheProgram) {
  const auto found = run_debuginfod_find({.program = directory_ + "/nothing", .build_id = "\x01"}, [] { return true; });
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("No such file"), std::string::npos) << found.error().message;
}

// Also a program that ignores signals, and one that it has started.
TEST_F(DebuginfodFindTest, IsKilledWhenItIsNotWaitedForAnyLonger) {
  const std::string noted = directory_ + "/id";
  const auto found = run("trap '' INT TERM HUP; (echo $$ > " + noted + ".new; mv " + noted + ".new " + noted +
                             "; sleep 1000) & wait; sleep 1000",
                         [&] { return !std::filesystem::exists(noted); });
  ASSERT_FALSE(found);
  pid_t id = 0;
  std::ifstream(noted) >> id;
  ASSERT_GT(id, 0);
  EXPECT_NE(kill(id, 0), 0);
}

TEST_F(DebuginfodFindTest, DoesNotWaitForWhatTheProgramLeavesBehind) {
  EXPECT_EQ(*run("sleep 1000 & echo $! > " + directory_ + "/id; echo /x"), "/x");
  pid_t id = 0;
  std::ifstream(directory_ + "/id") >> id;
  ASSERT_GT(id, 0);
  EXPECT_EQ(kill(id, SIGKILL), 0);
}

TEST_F(DebuginfodFindTest, WritesNoLargerFile) {
  const std::string file = directory_ + "/file";
  (void)run("until [ $(ulimit -f) != unlimited ]; do :; done; head -c 100000 /dev/zero > " + file + "; echo " + file);
  std::error_code error;
  EXPECT_LE(std::filesystem::file_size(file, error), 4096U);
}

TEST_F(DebuginfodFindTest, IsLookedForInAbsoluteDirectories) {
  const std::string before = getenv("PATH");
  const auto found_in = [](const std::string& path) {
    setenv("PATH", path.c_str(), 1);
    return debuginfod_find_program();
  };
  script("", 0644);
  EXPECT_EQ(found_in("/nowhere:" + directory_), "");
  const std::string program = script("");
  EXPECT_EQ(found_in(":.:/nowhere::" + directory_ + ":"), program);
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  EXPECT_EQ(found_in(":."), "");
  std::filesystem::current_path(here);
  setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace heaptap::symbols
