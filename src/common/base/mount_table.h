// Mount table of a process: /proc/PID/mountinfo, which is readable without accessing the mounted file systems.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::base {

struct Mount {
  uint64_t number = 0;  // unique on the machine
  dev_t device = 0;
  std::string point;         // mount point, below the process's root
  std::string type;          // "ext4", "fuse.sshfs"
  std::string root = {};     // directory of the file system that is mounted there
  std::string options = {};  // of the file system, with commas between them
};

// Skips invalid lines.
std::vector<Mount> parse_mounts(std::string_view mountinfo);
// `thread`: any live thread of the process.
std::vector<Mount> read_mounts(pid_t thread);

// Mounts of this process. Read again after a mount or unmount. Thread-safe.
std::shared_ptr<const std::vector<Mount>> own_mounts();

// The mount that contains a path without symbolic links, or null.
const Mount* find_mount(const std::vector<Mount>& mounts, std::string_view path);

}  // namespace heaptap::base
