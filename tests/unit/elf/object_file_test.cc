// Files that a program maps, opened where another process sees them.
#include "capture/elf/object_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "common/base/unique_fd.h"

namespace heaptap::elf {
namespace {

class OpenAsSeenBy : public ::testing::TestWithParam<bool> {
 protected:
  OpenAsSeenBy() {
    std::string name = ::testing::TempDir() + "/object_file-XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~OpenAsSeenBy() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] base::UniqueFd open_it(const std::string& path) const {
    return open_as_seen_by(GetParam() ? getpid() : 0, path);
  }

  std::string directory_;
};

TEST_P(OpenAsSeenBy, AFileCanBeRead) {
  const std::string path = directory_ + "/file";
  const base::UniqueFd made(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(write(made.get(), "abc", 3), 3);
  std::filesystem::create_symlink("file", directory_ + "/link");
  for (const char* const name : {"/file", "/link"}) {
    const base::UniqueFd file = open_it(directory_ + name);
    char text[4] = {};
    EXPECT_EQ(read(file.get(), text, sizeof(text)), 3) << name;
    EXPECT_STREQ(text, "abc");
  }
}

TEST_P(OpenAsSeenBy, WhatIsNoFileIsNotOpenedAtAll) {
  const std::string path = directory_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const base::UniqueFd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(), path.c_str(), IN_OPEN), 0);
  errno = 0;
  EXPECT_FALSE(open_it(path));
  EXPECT_EQ(errno, EINVAL);
  char events[512];
  EXPECT_EQ(read(watch.get(), events, sizeof(events)), -1) << "it was opened";
  EXPECT_EQ(errno, EAGAIN);
}

TEST_P(OpenAsSeenBy, WhatIsNotThereIsSaid) {
  EXPECT_FALSE(open_it(directory_ + "/nothing"));
  EXPECT_EQ(errno, ENOENT);
}

INSTANTIATE_TEST_SUITE_P(Roots, OpenAsSeenBy, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "OfAProcess" : "Own"; });

}  // namespace
}  // namespace heaptap::elf
