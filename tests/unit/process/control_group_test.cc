#include "capture/process/control_group.h"

#include <gtest/gtest.h>

namespace heaptap::process {
namespace {

TEST(ControlGroup, IsReadFromEachLine) {
  const auto groups = control_groups_in("8:memory:/a\n7:cpu,cpuacct:/docker/b:c\nno group\n1:half\n0::/d\n");
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].controllers, "memory");
  EXPECT_EQ(groups[1].path, "/docker/b:c");
  EXPECT_TRUE(is_listed(groups[1].controllers, "cpuacct"));
  EXPECT_FALSE(is_listed(groups[1].controllers, "cpua"));
  EXPECT_EQ((std::vector{groups[0].is_unified, groups[1].is_unified, groups[2].is_unified}),
            (std::vector{false, false, true}));
}

TEST(ControlGroup, HasParentsUpToTheRoot) {
  const auto paths_of = [](const std::string& path) {
    std::vector<std::string> paths;
    for_each_up(path, [&paths](const std::string& each) { paths.push_back(each); });
    return paths;
  };
  EXPECT_EQ(paths_of("/a/b"), (std::vector<std::string>{"/a/b", "/a", ""}));
  EXPECT_EQ(paths_of("/"), std::vector<std::string>{""});
  EXPECT_EQ(paths_of(""), std::vector<std::string>{""});
  EXPECT_EQ(paths_of("none"), std::vector<std::string>{"none"});
}

}  // namespace
}  // namespace heaptap::process
