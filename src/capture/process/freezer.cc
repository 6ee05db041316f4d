#include "capture/process/freezer.h"

#include <algorithm>

#include "capture/process/control_group.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::process {

std::string freezer_group(std::string_view cgroup) {
  const std::vector<ControlGroup> groups = control_groups_in(cgroup);
  const auto found =
      std::ranges::find_if(groups, [](const ControlGroup& group) { return is_listed(group.controllers, "freezer"); });
  return found == groups.end() ? std::string() : found->path;
}

// A tree's controllers are among its mount options (proc(5)). Mounts of a part of the tree are ignored.
std::string freezer_mount(const std::vector<base::Mount>& mounts) {
  const auto found = std::ranges::find_if(mounts, [](const base::Mount& mount) {
    return mount.type == "cgroup" && mount.root == "/" && is_listed(mount.options, "freezer");
  });
  return found == mounts.end() ? std::string() : found->point;
}

bool is_frozen(pid_t process) {
  if (base::read_small_file(base::process_file(process, "wchan"), 64) == "__refrigerator") return true;
  const std::string group = freezer_group(base::read_small_file(base::process_file(process, "cgroup")));
  if (group.empty() || group == "/") return false;
  const std::string mount = freezer_mount(*base::own_mounts());
  if (mount.empty()) return false;
  const std::string state = base::read_small_file(mount + group + "/freezer.state", 64);
  return state.starts_with("FROZEN") || state.starts_with("FREEZING");
}

}  // namespace heaptap::process
