// The freezer's groups, as the kernel writes of them.
#include "capture/process/freezer.h"

#include <gtest/gtest.h>

namespace heaptap::process {
namespace {

TEST(Freezer, HasAGroupForEachProcess) {
  EXPECT_EQ(freezer_group("8:memory:/a\n7:cpu,freezer:/docker/b:c\n0::/d\n"), "/docker/b:c");
  EXPECT_EQ(freezer_group("8:memory:/a\n0::/freezer\n"), "");
  EXPECT_EQ(freezer_group("freezer\n7:freezer\n"), "");
}

TEST(Freezer, IsMountedWhereItsTreeIs) {
  EXPECT_EQ(freezer_mount(base::parse_mounts(
                "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "31 25 0:27 /part /mnt rw - cgroup cgroup rw,freezer\n"
                "32 25 0:27 / /sys/fs/cgroup/freezer rw,nosuid shared:9 - cgroup cgroup rw,freezer\n")),
            "/sys/fs/cgroup/freezer");
  EXPECT_EQ(freezer_mount(base::parse_mounts("33 25 0:28 / /freezer rw - cgroup2 cgroup2 rw,freezer\n34 25\n-\n")), "");
}

}  // namespace
}  // namespace heaptap::process
