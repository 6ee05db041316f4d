// Directories whose files are served. Nothing outside of them is opened: no `..`, no symbolic links.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::symbol_server {

struct FilePlace {
  size_t directory = 0;  // index of the directory
  std::string path;      // relative to it
  bool operator==(const FilePlace&) const = default;
};

class Directories {
 public:
  // An error: one isn't there, or is not a directory.
  static base::Result<Directories> open(const std::vector<std::string>& paths);

  [[nodiscard]] size_t count() const { return directories_.size(); }
  // A regular file, for reading. None: it isn't there, or no file, or not beneath the directory.
  [[nodiscard]] base::UniqueFd open_file(const FilePlace& place) const;
  // A directory beneath one of them; "" is itself.
  [[nodiscard]] base::UniqueFd open_directory(const FilePlace& place) const;

 private:
  [[nodiscard]] base::UniqueFd open_beneath(const FilePlace& place, int flags) const;

  std::vector<base::UniqueFd> directories_;
};

// Fallback for openat2(): opens component by component. Public for tests.
base::UniqueFd open_part_by_part(int directory, const std::string& path, int flags);

}  // namespace heaptap::symbol_server
