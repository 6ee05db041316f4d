// The directory that `heaptap mcp` answers about. Names come from an assistant, and what is in the directory from anyone: only
// regular files below it are recordings, after all links are followed, and so are the traces that an index names.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::app {

struct RecordingList {
  std::vector<std::string> names;  // the newest first
  uint64_t older = 0;              // more than these
  std::string error;               // why some may be missing; empty: all were found
};

class ServedDirectory {
 public:
  // Fails if it isn't a directory.
  static base::Result<ServedDirectory> open(const std::string& directory);

  // Canonical path of the recording of this name: a path relative to the directory, or to the working directory, or absolute.
  [[nodiscard]] base::Result<std::string> recording(const std::string& name) const;
  // Recordings with `match` in their names; links, and directories behind links, left out.
  [[nodiscard]] RecordingList list(const std::string& match, size_t limit) const;
  [[nodiscard]] std::string path_of(const std::string& name) const { return (root_ / name).string(); }
  // Canonical.
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  // Checks a file, without the traces that it may name. `path`: absolute, or relative to the working directory.
  [[nodiscard]] base::Result<std::string> file_below(const std::filesystem::path& path) const;

  std::filesystem::path root_;
};

// Whether a canonical path lies below a canonical directory.
bool is_below(const std::filesystem::path& path, const std::filesystem::path& directory);

}  // namespace heaptap::app
