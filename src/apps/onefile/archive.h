// The entries of a tar archive (POSIX.1-1988, "ustar"): directories, files and symbolic links; nothing else is packed.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace heaptap::onefile {

struct Entry {
  enum class Kind { kFile, kDirectory, kLink };
  Kind kind;
  std::string path;          // relative, without ".."
  mode_t mode;               // permissions
  std::string_view content;  // of a file: bytes of the archive
  std::string link;          // where a link leads to
};

// A directory stands before what is in it.
base::Result<std::vector<Entry>> parse_archive(std::string_view tar);

}  // namespace heaptap::onefile
