// Which files are served by somebody, and what is done with the others. That one who doesn't answer is given up:
// tests/e2e/served_files_test.py.
#include "common/base/served_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "common/base/small_file.h"
#include "served_file.h"
#include "waiting.h"

namespace heaptap::base {
namespace {

constexpr const char* kFile = "/dev/null";  // on no machine on a served file system

TEST(ServedFiles, AreOnFileSystemsThatWaitForSomebody) {
  for (const char* const type : {"fuse", "fuse.sshfs", "fuseblk", "nfs", "nfs4", "cifs", "9p", "virtiofs", "autofs"})
    EXPECT_TRUE(is_served(type)) << type;
  for (const char* const type : {"ext4", "tmpfs", "overlay", "proc", "fusectl", "nfsd", ""})
    EXPECT_FALSE(is_served(type)) << type;
}

// A file of which nothing is known may be a served one.
TEST(ServedFiles, OnlyOthersAreLookedAtByWhoAsks) {
  ServedFiles files;
  const auto who = [] { return std::this_thread::get_id(); };
  EXPECT_EQ(files.look<std::thread::id>({.path = kFile}, std::nullopt, who), who());
  EXPECT_NE(files.look<std::thread::id>({.path = kFile}, FileServer{}, who), who());
  EXPECT_TRUE(files.given_up().empty());
}

TEST(ServedFiles, OthersAreKnownBesideServedOnes) {
  const std::string directory = testing::TempDir() + "served_files.beside." + std::to_string(getpid());
  std::filesystem::create_directories(directory);
  std::optional<test::ServedFile> served(std::in_place, directory, "content");
  if (!served->is_there()) GTEST_SKIP() << "needs root, and FUSE";
  const auto server = ServedFiles::server_of({.path = served->path()});
  ASSERT_TRUE(server);
  EXPECT_TRUE(is_served(server->type)) << server->type;
  const UniqueFd held(open(kFile, O_RDONLY | O_CLOEXEC));  // its name is in the kernel's cache
  EXPECT_FALSE(ServedFiles::server_of({.path = kFile}));
  served.reset();
  std::filesystem::remove_all(directory);
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

TEST(ServedFiles, WhatIsStillWaitedForIsKnown) {
  const std::string directory = testing::TempDir() + "served_files." + std::to_string(getpid());
  std::filesystem::create_directories(directory);
  std::optional<test::ServedFile> served(std::in_place, directory, "content");
  if (!served->is_there()) GTEST_SKIP() << "needs root, and FUSE";
  const FilePlace place{.path = served->path()};
  ServedFiles files;
  const auto read = [path = place.path] { return read_small_file(path); };
  EXPECT_EQ(files.look<std::string>(place, read), "content");
  served->fall_silent();
  EXPECT_FALSE(files.look<std::string>(place, read).has_value());
  ASSERT_EQ(files.awaited().size(), 1u);
  EXPECT_EQ(files.awaited().front().path, place.path);
  EXPECT_TRUE(abort_switch(files.awaited().front()).starts_with("/sys/fs/fuse/connections/"));
  served.reset();
  test::wait_for("the abandoned thread returns", [&] { return files.awaited().empty(); });
  EXPECT_EQ(files.given_up().size(), 1u);
  std::filesystem::remove_all(directory);
}

TEST(ServedFiles, OnlyAProgramsFilesHaveASwitch) {
  EXPECT_EQ(abort_switch({.path = "/it", .type = "fuse.sshfs", .device = makedev(0, 57)}),
            "/sys/fs/fuse/connections/57/abort");
  EXPECT_EQ(abort_switch({.path = "/it", .type = "nfs4", .device = makedev(0, 57)}), "");
  EXPECT_EQ(abort_switch({.path = "/it", .type = "fuse"}), "");
}

TEST(ServedFiles, OwnCopyOfAnotherFileIsItself) {
  UniqueFd file(open(kFile, O_RDONLY | O_CLOEXEC));
  const int descriptor = file.get();
  EXPECT_EQ(own_copy(std::move(file)).get(), descriptor);
  EXPECT_FALSE(own_copy(UniqueFd()));
}

}  // namespace
}  // namespace heaptap::base
