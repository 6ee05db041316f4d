// Opens the file of an object that a process has mapped, where it can be had: the mapping itself, the path below the process's
// root, the path here. Another file at the path, as after an update, is not taken for it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "elf/mapped_object.h"
#include "process/memory_map.h"

namespace heaptap::elf {

// From here on this process holds programs, which may serve files themselves (FUSE): a file is opened by a thread that is given up after
// 2 s (errno ETIMEDOUT), and of a served one it makes a copy in memory. For one thread of the process.
void do_not_wait_for_served_files();

// A regular file as a process with that root sees it; `thread` 0: as this one does. None: errno tells why.
base::UniqueFd open_as_seen_by(pid_t thread, const std::string& path);

// What the process executes; of a served file its first `most_bytes`.
base::UniqueFd open_executable(pid_t thread, uint64_t most_bytes);

// Where a file's own notes name it; empty: they don't.
std::vector<uint8_t> read_build_id(const ByteSource& file);

struct ObjectFile {
  base::UniqueFd file;
  static constexpr int kAnotherFile = 0;  // is in its place
  int error = 0;                          // where there is none: an errno value, or kAnotherFile
};
ObjectFile open_object_file(pid_t thread, const MappedObject& object);

// The link's path as the process itself would read it: `link` is "exe" or "cwd". Empty: it isn't told.
std::string read_process_link(pid_t thread, const char* link);
// A path of the memory map, which is told as seen from here, as the process with that root sees it.
std::string path_below_root(pid_t thread, std::string path);

}  // namespace heaptap::elf
