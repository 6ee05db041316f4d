// Opening of a mapped module's file, while the process lives or the file still exists.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "common/base/served_files.h"
#include "common/base/unique_fd.h"
#include "common/model/tables.h"

namespace heaptap::stream {

// The exact file: a regular one with the module's build-id. None: unavailable, or the module has no build-id. For a
// file served by a program it is a copy (common/base/served_files.h).
base::UniqueFd open_module_file(pid_t process, const model::Module& module);

// Target of the symbolic links in a module's path, in the process's view; empty: the same, or unknown.
std::string file_behind(pid_t process, const std::string& path);

// A path that stays valid: "/proc/self/fd/4" and the like change their meaning when the descriptor is closed, and in other
// processes; replaced by the kernel's name of the mapped file ("/memfd:plugin"). Other paths are returned unchanged.
std::string lasting_path(pid_t process, const model::Module& module);

// The exact file, as above, to be read in pieces: nothing is copied, and each access is given up where its file system doesn't
// respond.
class PiecewiseFile {
 public:
  struct Piece {
    uint64_t file_bytes = 0;
    std::string bytes = {};
  };

  static std::optional<PiecewiseFile> open(pid_t process, const model::Module& module);
  // From `offset`, up to `max_bytes` or the end.
  [[nodiscard]] base::Result<Piece> read(uint64_t offset, size_t max_bytes) const;

 private:
  PiecewiseFile(base::FilePlace place, std::optional<base::FileServer> server,
                std::shared_ptr<const base::UniqueFd> file)
      : place_(std::move(place)), server_(std::move(server)), file_(std::move(file)) {}

  base::FilePlace place_;
  std::optional<base::FileServer> server_;
  std::shared_ptr<const base::UniqueFd> file_;
};

}  // namespace heaptap::stream
