// Control groups of processes, as /proc/PID/cgroup has them (cgroups(7)): a line "NUMBER:CONTROLLER,…:PATH" for each tree.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::process {

struct ControlGroup {
  std::string controllers;  // separated by commas
  std::string path;         // within its tree
  bool is_unified = false;  // of the tree of version 2, which has all controllers
};

std::vector<ControlGroup> control_groups_in(std::string_view text);
// Whether a word is in a list that commas separate.
bool is_listed(std::string_view list, std::string_view word);

// Calls visit(path) for a group and all its parents; the path of the last one, the root, is empty.
template <typename Visit>
void for_each_up(std::string path, const Visit& visit) {
  for (;;) {
    if (path == "/") path.clear();
    visit(path);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.erase(slash);
  }
}

}  // namespace heaptap::process
