// The kernel's freezer of control groups, by which container engines pause what runs in them. A process in a frozen group of version 1
// comes to no stop until somebody thaws it; in one of version 2 it can be traced as ever.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace heaptap::process {

// Where /proc/PID/cgroup says that the process is in the freezer's tree; empty: in none.
std::string freezer_group(std::string_view cgroup);
// Where this /proc/PID/mountinfo says that the freezer's tree is mounted; empty: nowhere.
std::string freezer_mount(std::string_view mountinfo);

// Whether the process is in a group of version 1 that is frozen, or about to be. False where that can't be seen.
bool is_frozen(pid_t process);

}  // namespace heaptap::process
