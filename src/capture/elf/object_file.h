// File of a mapped object: opened, where available, through the mapping itself, the path below the process's root, or
// the path here. A different file at the path, as after an update, is rejected.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "capture/elf/mapped_object.h"
#include "capture/process/memory_map.h"
#include "common/base/byte_source.h"
#include "common/base/served_files.h"
#include "common/base/unique_fd.h"

namespace heaptap::elf {

// Opens a regular file in the view of a process; `thread` 0: in this one's. None on failure, errno set.
base::UniqueFd open_as_seen_by(pid_t thread, const std::string& path);

// The build-id in a file's notes; empty: none.
std::vector<uint8_t> read_build_id(const base::ByteSource& file);

struct ObjectFile {
  base::UniqueFd file;
  static constexpr int kAnotherFile = 0;  // a different file is in its place
  int error = 0;                          // if there is no file: an errno value, or kAnotherFile
};
ObjectFile open_object_file(pid_t thread, const MappedObject& object);

// For ServedFiles::look() at the mapped file (common/base/served_files.h).
base::FilePlace place_of(pid_t thread, const process::Mapping& mapping);
// For a process held by this one, which may serve the file itself: bounded by ServedFiles (error ETIMEDOUT: given up),
// and a served file is copied to memory, since even closing it may block.
ObjectFile open_object_file_bounded(pid_t thread, const MappedObject& object);

// The link's path in the process's own view: `link` is "exe" or "cwd". Empty: unavailable.
std::string read_process_link(pid_t thread, const char* link);
// Converts a path of the memory map, which is in this process's view, to the view of the process with that root.
std::string path_below_root(pid_t thread, std::string path);

}  // namespace heaptap::elf
