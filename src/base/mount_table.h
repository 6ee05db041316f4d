// Which file systems are mounted where, as a process sees them: /proc/PID/mountinfo, which is told without asking any of them.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::base {

struct Mount {
  uint64_t number = 0;  // of all that the machine has
  dev_t device = 0;
  std::string point;  // where, below the process's root
  std::string type;   // "ext4", "fuse.sshfs"
};

// Lines that make no sense are left out.
std::vector<Mount> parse_mounts(std::string_view mountinfo);
// `thread`: any live thread of the process.
std::vector<Mount> read_mounts(pid_t thread);

// Those of this process. Read anew where something was mounted or unmounted meanwhile. For all threads.
std::shared_ptr<const std::vector<Mount>> own_mounts();

// The one that a path without links lies in, or null.
const Mount* find_mount(const std::vector<Mount>& mounts, std::string_view path);

}  // namespace heaptap::base
