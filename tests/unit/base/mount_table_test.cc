// Lines of /proc/PID/mountinfo.
#include "common/base/mount_table.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace heaptap::base {
namespace {

TEST(MountTable, IsReadWithAnyNumberOfOptionalFields) {
  const auto mounts = parse_mounts(
      "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
      "36 21 0:42 /below /mnt/a\\040b rw master:1 propagate_from:2 - fuse.sshfs me@there:/ rw\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].number, 21u);
  EXPECT_EQ(mounts[0].device, makedev(8, 1));
  EXPECT_EQ(mounts[0].point, "/");
  EXPECT_EQ(mounts[0].type, "ext4");
  EXPECT_EQ(mounts[1].device, makedev(0, 42));
  EXPECT_EQ(mounts[1].point, "/mnt/a b");
  EXPECT_EQ(mounts[1].type, "fuse.sshfs");
  EXPECT_EQ(mounts[1].root, "/below");
  EXPECT_EQ(mounts[1].options, "rw");
}

TEST(MountTable, LeavesOutWhatMakesNoSense) {
  EXPECT_TRUE(parse_mounts("").empty());
  EXPECT_TRUE(
      parse_mounts(
          "21 1 8:1 / / rw,relatime\nx 1 8:1 / / rw - ext4 a rw\n21 1 8 / / rw - ext4 a rw\n21 1 8:1 / / rw -\n")
          .empty());
}

TEST(MountTable, FindsTheInnermostAndLastOne) {
  const auto mounts = parse_mounts(
      "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /home rw - xfs b rw\n3 2 8:3 / /home/x rw - nfs4 c rw\n"
      "4 3 8:4 / /home/x rw - tmpfs d rw\n");
  const auto number_at = [&mounts](std::string_view path) { return find_mount(mounts, path)->number; };
  EXPECT_EQ(number_at("/etc/passwd"), 1u);
  EXPECT_EQ(number_at("/homes/x"), 1u);
  EXPECT_EQ(number_at("/home"), 2u);
  EXPECT_EQ(number_at("/home/xy"), 2u);
  EXPECT_EQ(number_at("/home/x/y"), 4u);
  EXPECT_EQ(find_mount(mounts, "relative"), nullptr);
}

TEST(MountTable, OfThisProcessHasItsRoot) {
  EXPECT_NE(find_mount(read_mounts(getpid()), "/"), nullptr);
  EXPECT_NE(find_mount(*own_mounts(), "/"), nullptr);
}

TEST(MountTable, OfThisProcessIsReadAnewWhereSomethingIsMounted) {
  constexpr int kNoNamespaces = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(kNoNamespaces);
    const auto before = own_mounts();
    const bool is_mounted = mount("none", "/tmp", "tmpfs", 0, nullptr) == 0;
    const auto after = own_mounts();
    const Mount* const there = find_mount(*after, "/tmp/file");
    const bool is_found = there != nullptr && there->point == "/tmp" && there->type == "tmpfs";
    _exit(is_mounted && is_found && there->number != find_mount(*before, "/tmp/file")->number ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNoNamespaces) GTEST_SKIP() << "no namespaces of users";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace heaptap::base
