// Files that a process has open, found without opening them.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string_view>

#include "common/base/unique_fd.h"

namespace heaptap::process {

// Whether `is_meant` holds for a descriptor of the process, which is asked until it does: its number, and where it leads, as
// readlink(2) of /proc/PID/fd tells it: "anon_inode:[userfaultfd]". False also where that can't be read. `live_thread`: see
// find_live_thread().
bool any_open(pid_t live_thread, const std::function<bool(const char* number, std::string_view target)>& is_meant);
// Whether one leads to a name with this ending.
bool has_open(pid_t live_thread, std::string_view ending);

// A descriptor of this process for what another one has open. Empty: not to be had; errno says why.
base::UniqueFd copy_descriptor(pid_t process, int number);

}  // namespace heaptap::process
