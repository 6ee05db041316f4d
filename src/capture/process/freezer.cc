#include "capture/process/freezer.h"

#include <algorithm>
#include <vector>

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

// "… ROOT PLACE OPTIONS … - cgroup SOURCE CONTROLLERS" (proc(5)). What is mounted of a part of the tree only isn't looked for.
std::string freezer_mount(std::string_view mountinfo) {
  constexpr size_t kRoot = 3;
  constexpr size_t kPlace = 4;
  for (const std::string& line : base::split(std::string(mountinfo), '\n')) {
    const std::vector<std::string> words = base::words_of(line);
    const auto separator = std::ranges::find(words, "-");
    if (words.end() - separator < 4 || words.size() <= kPlace) continue;
    if (separator[1] == "cgroup" && has_word(separator[3], "freezer") && words[kRoot] == "/") return words[kPlace];
  }
  return "";
}

bool is_frozen(pid_t process) {
  const std::string own = "/proc/" + std::to_string(process);
  if (base::read_small_file(own + "/wchan", 64) == "__refrigerator") return true;
  const std::string group = freezer_group(base::read_small_file(own + "/cgroup"));
  if (group.empty() || group == "/") return false;
  const std::string mount = freezer_mount(base::read_small_file("/proc/self/mountinfo"));
  if (mount.empty()) return false;
  const std::string state = base::read_small_file(mount + group + "/freezer.state", 64);
  return state.starts_with("FROZEN") || state.starts_with("FREEZING");
}

}  // namespace heaptap::process
