// How many threads a collector has by itself: what the machine and control groups leave it.
#include "apps/heaptap/commands/collector_threads.h"

#include <gtest/gtest.h>

#include <map>

namespace heaptap::app {
namespace {

using Files = std::map<std::string, std::string>;

unsigned usable(unsigned affine, const Files& files) {
  return usable_processors(affine, [&files](const std::string& path) {
    const auto file = files.find(path);
    return file != files.end() ? file->second : "";
  });
}

TEST(CollectorThreads, AreThoseThatWereAskedFor) {
  EXPECT_EQ(collector_threads(1), 1u);
  EXPECT_EQ(collector_threads(64), 64u);
  EXPECT_GE(collector_threads(0), 1u);
  EXPECT_LE(collector_threads(0), 4u);
}

TEST(UsableProcessors, AreThoseOfTheMaskWithoutALimit) {
  EXPECT_EQ(usable(0, {}), 1u);
  EXPECT_EQ(usable(16, {}), 16u);
  EXPECT_EQ(
      usable(16, {{"/proc/self/cgroup", "0::/user.slice/a\n"}, {"/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"}}),
      16u);
}

TEST(UsableProcessors, AreLimitedByTheTightestGroup) {
  const Files files{{"/proc/self/cgroup", "0::/user.slice/a/b\n"},
                    {"/sys/fs/cgroup/user.slice/a/b/cpu.max", "max 100000\n"},
                    {"/sys/fs/cgroup/user.slice/a/cpu.max", "350000 100000\n"},
                    {"/sys/fs/cgroup/user.slice/cpu.max", "800000 100000\n"}};
  EXPECT_EQ(usable(16, files), 3u);
  EXPECT_EQ(usable(2, files), 2u);
}

TEST(UsableProcessors, AreLimitedInAContainer) {
  const Files whole{{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "50000 100000\n"}};
  EXPECT_EQ(usable(8, whole), 1u) << "less than one";
  const Files old{{"/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n0::/\n"},
                  {"/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "400000\n"},
                  {"/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n"},
                  {"/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n"},
                  {"/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(usable(8, old), 4u);
}

TEST(UsableProcessors, DoNotBelieveNonsense) {
  for (const char* const text : {"", "max", "1", "x y", "100000 0", "99999999999999999999999 1", "-5 100000"}) {
    EXPECT_EQ(usable(8, {{"/proc/self/cgroup", "0::/\nno colon\n0::nowhere\n"}, {"/sys/fs/cgroup/cpu.max", text}}), 8u)
        << text;
  }
}

}  // namespace
}  // namespace heaptap::app
