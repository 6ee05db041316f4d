// Programs that are unpacked into a directory that others can open.
#include "apps/onefile/unpack.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/unique_fd.h"

namespace heaptap::onefile {
namespace {

namespace fs = std::filesystem;

class UnpackTest : public testing::Test {
 public:
  void SetUp() override {
    directory = fs::canonical(testing::TempDir()) / ("unpack." + std::to_string(getpid()));
    fs::remove_all(directory);
    fs::create_directory(directory);
    payload.name = "programs";
  }
  void TearDown() override { fs::remove_all(directory); }

  fs::path directory;
  Payload payload;
};

TEST_F(UnpackTest, ALockOfTheDirectoryIsNotWaitedFor) {
  const base::UniqueFd held(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  const auto programs = programs_in({.base = directory, .below = {}}, payload);
  ASSERT_TRUE(programs) << programs.error().message;
  EXPECT_EQ(*programs, directory / "programs");
  struct stat status{};
  ASSERT_EQ(stat((directory / ".lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(UnpackTest, ALockThatOthersMayHoldIsRefused) {
  std::ofstream(directory / ".lock") << "";
  fs::permissions(directory / ".lock", fs::perms(0644));
  const auto programs = programs_in({.base = directory, .below = {}}, payload);
  ASSERT_FALSE(programs);
  EXPECT_EQ(programs.error().message, "other users may open " + (directory / ".lock").string() + ": remove it");
}

}  // namespace
}  // namespace heaptap::onefile
