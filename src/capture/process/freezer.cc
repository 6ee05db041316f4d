#include "capture/process/freezer.h"

#include <algorithm>

#include "common/base/small_file.h"

namespace heaptap::process {
namespace {

bool has_word(std::string_view list, std::string_view word) {
  const auto words = base::split(std::string(list), ',');
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

// "NUMBER:CONTROLLER,…:PATH" (cgroups(7))
std::string freezer_group(std::string_view cgroup) {
  for (const std::string& line : base::split(std::string(cgroup), '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (has_word(std::string_view(line).substr(first + 1, second - first - 1), "freezer"))
      return line.substr(second + 1);
  }
  return "";
}

// A tree's controllers are among its mount options (proc(5)). Mounts of a part of the tree are ignored.
std::string freezer_mount(const std::vector<base::Mount>& mounts) {
  const auto found = std::ranges::find_if(mounts, [](const base::Mount& mount) {
    return mount.type == "cgroup" && mount.root == "/" && has_word(mount.options, "freezer");
  });
  return found == mounts.end() ? std::string() : found->point;
}

bool is_frozen(pid_t process) {
  const std::string own = "/proc/" + std::to_string(process);
  if (base::read_small_file(own + "/wchan", 64) == "__refrigerator") return true;
  const std::string group = freezer_group(base::read_small_file(own + "/cgroup"));
  if (group.empty() || group == "/") return false;
  const std::string mount = freezer_mount(*base::own_mounts());
  if (mount.empty()) return false;
  const std::string state = base::read_small_file(mount + group + "/freezer.state", 64);
  return state.starts_with("FROZEN") || state.starts_with("FREEZING");
}

}  // namespace heaptap::process
