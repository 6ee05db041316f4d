#include "common/base/fresh_name.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <span>
#include <string>

namespace heaptap::base {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_mode : 0;
}

TEST(FreshNameTest, MakesAFileForItsUserAlone) {
  const std::string beginning = testing::TempDir() + "fresh-";
  std::string first = beginning;
  std::string second = beginning;
  const UniqueFd one = make_fresh_file(first);
  const UniqueFd other = make_fresh_file(second);
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(first.starts_with(beginning) && first.size() > beginning.size());
  EXPECT_NE(first, second);
  EXPECT_EQ(mode_of(first), static_cast<mode_t>(S_IFREG | 0600));
  EXPECT_EQ(write(one.get(), "x", 1), 1);
  EXPECT_NE(fcntl(one.get(), F_GETFD) & FD_CLOEXEC, 0);
  unlink(first.c_str());
  unlink(second.c_str());
}

TEST(FreshNameTest, MakesADirectoryForItsUserAlone) {
  std::string name = testing::TempDir() + "fresh-";
  ASSERT_TRUE(make_fresh_directory(name));
  EXPECT_EQ(mode_of(name), static_cast<mode_t>(S_IFDIR | 0700));
  rmdir(name.c_str());
}

TEST(FreshNameTest, WithoutARandomSourceNamesAreStillNew) {
  const auto none = [](std::span<uint8_t>) { return false; };
  const std::string beginning = testing::TempDir() + "fresh-";
  std::set<std::string> names;
  for (int i = 0; i < 10; ++i) {
    std::string name = beginning;
    ASSERT_TRUE(make_fresh_directory(name, none));
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 10u);
  for (const std::string& name : names) rmdir(name.c_str());
}

TEST(FreshNameTest, SaysWhyThereIsNone) {
  std::string name = "/no/such/directory/fresh-";
  EXPECT_FALSE(make_fresh_file(name));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(make_fresh_directory(name));
}

}  // namespace
}  // namespace heaptap::base
