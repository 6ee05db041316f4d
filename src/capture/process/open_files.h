// Files that a process has open, found without opening them.
#pragma once
#include <sys/types.h>

#include <string_view>

namespace heaptap::process {

// Whether a descriptor of the process leads to a name with this ending, as readlink(2) of /proc/PID/fd tells it:
// "anon_inode:[userfaultfd]". False also where that can't be read. `live_thread`: see find_live_thread().
bool has_open(pid_t live_thread, std::string_view ending);

}  // namespace heaptap::process
