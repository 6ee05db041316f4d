// Files of modules that came from other machines or are at no place here any more, for all who want names: $XDG_CACHE_HOME/heaptap or ~/.cache/heaptap, under their
// build-ids, as `.build-id/xx/yyyy`. What is there is believed as far as its build-id is the one that is asked for. Several programs
// may use it at once.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptap::symbols {

inline constexpr uint64_t kMaxCacheBytes = uint64_t{2} << 30;

// A file that is being written, under a name of its own until it is whole.
class NewCacheFile {
 public:
  NewCacheFile(NewCacheFile&& other) noexcept;
  NewCacheFile& operator=(NewCacheFile&&) = delete;
  ~NewCacheFile();  // nothing is left of one that wasn't finished

  base::Result<> write(std::string_view bytes);
  // Gives it its name. The error: it isn't the file with this build-id.
  base::Result<> finish();

 private:
  friend class FileCache;
  NewCacheFile(base::UniqueFd file, std::string temporary, std::string folder, std::string path, std::string build_id)
      : file_(std::move(file)),
        temporary_(std::move(temporary)),
        folder_(std::move(folder)),
        path_(std::move(path)),
        build_id_(std::move(build_id)) {}

  base::UniqueFd file_;
  std::string temporary_;  // empty: it is gone
  std::string folder_;
  std::string path_;
  std::string build_id_;
};

class FileCache {
 public:
  // This user's; none: there is no place for it.
  static std::optional<FileCache> of_user();
  explicit FileCache(std::string folder, uint64_t most_bytes = kMaxCacheBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // Where a file of this build-id (bytes) is, if it is there.
  [[nodiscard]] std::string path_of(const std::string& build_id) const;
  // It was of use: others go before it.
  void note_use(const std::string& build_id) const;
  // Fails where the folder, or one above it, belongs to another user than this one and root.
  [[nodiscard]] base::Result<NewCacheFile> begin(const std::string& build_id) const;
  // Those that weren't used for the longest time go, until the rest is no larger than may be. The last one stays.
  void make_room() const;

 private:
  std::string folder_;
  uint64_t most_bytes_;
};

// ".build-id/xx/yyyy"
std::string build_id_path(const std::string& build_id);

}  // namespace heaptap::symbols
