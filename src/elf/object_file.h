// Opens the file of an object that a process has mapped, where it can be had: the mapping itself, the path below the process's
// root, the path here. Another file at the path, as after an update, is not taken for it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/served_files.h"
#include "base/unique_fd.h"
#include "elf/mapped_object.h"
#include "process/memory_map.h"

namespace heaptap::elf {

// A regular file as a process with that root sees it; `thread` 0: as this one does. None: errno tells why.
base::UniqueFd open_as_seen_by(pid_t thread, const std::string& path);

// Where a file's own notes name it; empty: they don't.
std::vector<uint8_t> read_build_id(const ByteSource& file);

struct ObjectFile {
  base::UniqueFd file;
  static constexpr int kAnotherFile = 0;  // is in its place
  int error = 0;                          // where there is none: an errno value, or kAnotherFile
};
ObjectFile open_object_file(pid_t thread, const MappedObject& object);

// For a look at the mapped file (base/served_files.h).
base::FilePlace place_of(pid_t thread, const process::Mapping& mapping);
// The same of a process that this one holds, which may serve the file itself: by such a look (error ETIMEDOUT: it was given up), and of a
// served file a copy in memory, since even closing it waits for whoever serves it.
ObjectFile open_object_file_bounded(pid_t thread, const MappedObject& object);

// The link's path as the process itself would read it: `link` is "exe" or "cwd". Empty: it isn't told.
std::string read_process_link(pid_t thread, const char* link);
// A path of the memory map, which is told as seen from here, as the process with that root sees it.
std::string path_below_root(pid_t thread, std::string path);

}  // namespace heaptap::elf
