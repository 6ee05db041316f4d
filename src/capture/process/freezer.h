// Control group freezer of the kernel, which container engines use to pause containers. A process in a frozen group of
// version 1 can't be stopped until it is thawed; in one of version 2 it can be traced as usual.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/mount_table.h"

namespace heaptap::process {

// The process's group in the freezer's tree, from /proc/PID/cgroup; empty: in none.
std::string freezer_group(std::string_view cgroup);
// Mount point of the freezer's tree; empty: not mounted.
std::string freezer_mount(const std::vector<base::Mount>& mounts);

// Whether the process is in a group of version 1 that is frozen or freezing. False where unknown.
bool is_frozen(pid_t process);

}  // namespace heaptap::process
