// Which files are served by somebody, and what is done with the others. That one who doesn't answer is given up:
// tests/e2e/served_files_test.py.
#include "common/base/served_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <thread>

namespace heaptap::base {
namespace {

constexpr const char* kFile = "/proc/version";

TEST(ServedFiles, AreOnFileSystemsThatWaitForSomebody) {
  for (const char* const type : {"fuse", "fuse.sshfs", "fuseblk", "nfs", "nfs4", "cifs", "9p", "virtiofs", "autofs"})
    EXPECT_TRUE(is_served(type)) << type;
  for (const char* const type : {"ext4", "tmpfs", "overlay", "proc", "fusectl", "nfsd", ""})
    EXPECT_FALSE(is_served(type)) << type;
}

TEST(ServedFiles, OthersAreLookedAtByWhoAsks) {
  ServedFiles files;
  const auto who = files.look<std::thread::id>({.path = kFile}, [] { return std::this_thread::get_id(); });
  EXPECT_EQ(who, std::this_thread::get_id());
  EXPECT_TRUE(files.given_up().empty());
}

TEST(ServedFiles, LookHandsOverWhatCanOnlyBeMoved) {
  ServedFiles files;
  auto file = files.look<UniqueFd>({.path = kFile}, [] { return UniqueFd(open(kFile, O_RDONLY | O_CLOEXEC)); });
  ASSERT_TRUE(file && *file);
  const int descriptor = file->get();
  {
    const auto kept = files.keep({.path = kFile}, std::move(*file));
    EXPECT_EQ(kept->get(), descriptor);
    EXPECT_NE(fcntl(descriptor, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

TEST(ServedFiles, OwnCopyOfAnotherFileIsItself) {
  UniqueFd file(open(kFile, O_RDONLY | O_CLOEXEC));
  const int descriptor = file.get();
  EXPECT_EQ(own_copy(std::move(file)).get(), descriptor);
  EXPECT_FALSE(own_copy(UniqueFd()));
}

}  // namespace
}  // namespace heaptap::base
