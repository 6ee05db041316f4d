// Opens the file of an object that a process has mapped, where it can be had: the mapping itself, the path below the process's
// root, the path here. Another file at the path, as after an update, is not taken for it.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "elf/mapped_object.h"
#include "process/memory_map.h"

namespace heaptap::elf {

// An open file, closed by its owner's destructor.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  int release();
  [[nodiscard]] OpenFile copy() const;

 private:
  int descriptor_ = -1;
};

// A regular file as a process with that root sees it; `thread` 0: as this one does. Not open: errno tells why.
OpenFile open_as_seen_by(pid_t thread, const std::string& path);

// Where a file's own notes name it; empty: they don't.
std::vector<uint8_t> read_build_id(const ByteSource& file);

struct ObjectFile {
  OpenFile file;
  std::string why_not;  // of one that isn't open
};
ObjectFile open_object_file(pid_t thread, const MappedObject& object);

// The link's path as the process itself would read it: `link` is "exe" or "cwd". Empty: it isn't told.
std::string read_process_link(pid_t thread, const char* link);
// A path of the memory map, which is told as seen from here, as the process with that root sees it.
std::string path_below_root(pid_t thread, std::string path);

}  // namespace heaptap::elf
