#include "capture/process/control_group.h"

#include <algorithm>

#include "common/base/small_file.h"

namespace heaptap::process {

std::vector<ControlGroup> control_groups_in(std::string_view text) {
  std::vector<ControlGroup> groups;
  for (const std::string& line : base::split(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    groups.push_back({.controllers = line.substr(first + 1, second - first - 1),
                      .path = line.substr(second + 1),
                      .is_unified = line.starts_with("0::")});
  }
  return groups;
}

bool is_listed(std::string_view list, std::string_view word) {
  const std::vector<std::string> words = base::split(list, ',');
  return std::ranges::find(words, word) != words.end();
}

}  // namespace heaptap::process
