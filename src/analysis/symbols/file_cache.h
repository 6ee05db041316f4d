// Cache of module files fetched from other machines or no longer present here, shared by all processes: $XDG_CACHE_HOME/heaptap or
// ~/.cache/heaptap, by build-id, as `.build-id/xx/yyyy`. A cached file is trusted only if its build-id matches. Several processes may
// use it at once.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::symbols {

inline constexpr uint64_t kMaxCacheBytes = uint64_t{2} << 30;

// Cache file being written, under a temporary name until it is complete.
class NewCacheFile {
 public:
  NewCacheFile(NewCacheFile&& other) noexcept;
  NewCacheFile& operator=(NewCacheFile&&) = delete;
  ~NewCacheFile();  // removes the file unless finished

  base::Result<> write(std::string_view bytes);
  // Renames it into place. Fails if the file's build-id isn't the requested one.
  base::Result<> finish();

 private:
  friend class FileCache;
  NewCacheFile(base::UniqueFd file, std::string temporary, std::string directory, std::string path,
               std::string build_id)
      : file_(std::move(file)),
        temporary_(std::move(temporary)),
        directory_(std::move(directory)),
        path_(std::move(path)),
        build_id_(std::move(build_id)) {}

  base::UniqueFd file_;
  std::string temporary_;  // empty: renamed or removed
  std::string directory_;
  std::string path_;
  std::string build_id_;
};

class FileCache {
 public:
  // The current user's cache; none: there is no place for one.
  static std::optional<FileCache> of_user();
  explicit FileCache(std::string directory, uint64_t max_bytes = kMaxCacheBytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}

  // Path of the file with this build-id (bytes); empty if it isn't cached.
  [[nodiscard]] std::string path_of(const std::string& build_id) const;
  // Marks it as recently used: others are evicted first.
  void note_use(const std::string& build_id) const;
  // Fails if users other than this one and root could exchange the directory, or one above it.
  [[nodiscard]] base::Result<NewCacheFile> begin(const std::string& build_id) const;
  // Evicts the least recently used files until the rest fits the size limit. The last one stays.
  void make_room() const;

 private:
  std::string directory_;
  uint64_t max_bytes_;
};

// Fails if users other than this one and root could exchange a directory of this path, or a link in it, as far as it is there: if one
// belongs to them, or lets them write.
base::Result<> check_owners(const std::string& path);

// ".build-id/xx/yyyy"
std::string build_id_path(const std::string& build_id);

}  // namespace heaptap::symbols
