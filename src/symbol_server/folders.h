// Folders whose files are given to others: nothing is opened but what lies beneath them, by no `..` and no symbolic link.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptap::symbol_server {

struct FilePlace {
  size_t folder = 0;  // which of them
  std::string path;   // relative to it
  bool operator==(const FilePlace&) const = default;
};

class Folders {
 public:
  // An error: one isn't there, or is no folder.
  static base::Result<Folders> open(const std::vector<std::string>& paths);

  [[nodiscard]] size_t count() const { return folders_.size(); }
  // A regular file, for reading. None: it isn't there, or no file, or not beneath the folder.
  [[nodiscard]] base::UniqueFd open_file(const FilePlace& place) const;
  // A folder beneath one of them; "" is itself.
  [[nodiscard]] base::UniqueFd open_folder(const FilePlace& place) const;

 private:
  [[nodiscard]] base::UniqueFd open_beneath(const FilePlace& place, int flags) const;

  std::vector<base::UniqueFd> folders_;
};

// Without openat2(): part by part. For tests.
base::UniqueFd open_part_by_part(int folder, const std::string& path, int flags);

}  // namespace heaptap::symbol_server
