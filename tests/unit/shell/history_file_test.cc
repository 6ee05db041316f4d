#include "views/shell/history_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heaptap::shell {
namespace {

class HistoryFileTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("history_test." + std::to_string(getpid()));
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
};

TEST_F(HistoryFileTest, KeepsLinesForTheUserAlone) {
  const HistoryFile history((directory_ / "state/heaptap/history").string());
  EXPECT_TRUE(history.load().empty());
  history.add("show leaks");
  history.add("status");
  EXPECT_EQ(history.load(), (std::vector<std::string>{"show leaks", "status"}));
  struct stat status{};
  ASSERT_EQ(stat((directory_ / "state/heaptap/history").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(HistoryFileTest, ALongOneLosesItsOldestLines) {
  std::filesystem::create_directories(directory_);
  const std::string path = (directory_ / "history").string();
  {
    std::ofstream file(path);
    for (int i = 0; i < 5000; ++i) file << "line " << i << "\n";
  }
  const std::vector<std::string> lines = HistoryFile(path).load();
  ASSERT_EQ(lines.size(), 1000u);
  EXPECT_EQ(lines.back(), "line 4999");
  EXPECT_LT(std::filesystem::file_size(path), 20'000u);
  EXPECT_EQ(HistoryFile(path).load(), lines);
}

TEST_F(HistoryFileTest, WhereNoneCanBeKeptThereIsNone) {
  const HistoryFile nowhere("/proc/no/history");
  nowhere.add("show");
  EXPECT_TRUE(nowhere.load().empty());
  HistoryFile("").add("show");
  HistoryFile("/dev/null").add("show");
  EXPECT_TRUE(HistoryFile("/dev/null").load().empty());
}

TEST_F(HistoryFileTest, StandsBelowTheStateOfTheUser) {
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(usual_history_path(), "/state/heaptap/history");
  setenv("XDG_STATE_HOME", "relative", 1);
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(usual_history_path(), "/home/someone/.local/state/heaptap/history");
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(usual_history_path(), "");
}

}  // namespace
}  // namespace heaptap::shell
