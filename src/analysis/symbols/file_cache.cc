#include "analysis/symbols/file_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "analysis/symbols/elf_file.h"
#include "common/base/file_owner.h"
#include "common/base/hex_text.h"
#include "common/base/write_all.h"

namespace heaptap::symbols {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = "fetched.";
constexpr time_t kLongestWrite = 24 * 60 * 60;  // older ones were left by a killed program

base::Result<> make_directories(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != 0; slash = slash == path.npos ? 0 : path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      return base::fail("can't make the directory {}: {}", directory, base::reason_of(errno));
    }
  }
  return {};
}

struct Kept {
  fs::path path;
  timespec used;
  uint64_t bytes;
};

bool is_earlier(const Kept& a, const Kept& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

template <typename Iterator>
std::vector<Kept> files_in(const std::string& directory) {
  constexpr size_t kMaxFiles = 100'000;
  std::vector<Kept> files;
  std::error_code error;
  for (Iterator each(directory, error); !error && each != Iterator() && files.size() < kMaxFiles;
       each.increment(error)) {
    struct stat status{};
    if (lstat(each->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    files.push_back({each->path(), status.st_mtim, static_cast<uint64_t>(status.st_blocks) * 512});
  }
  return files;
}

base::Result<> check_status(const std::string& path, const struct stat& status) {
  if (base::is_anothers(status)) return base::fail("{} belongs to another user", path);
  // A group with its owner's number is the owner's alone, where distributions let it write.
  const bool is_others =
      (status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && status.st_gid != status.st_uid);
  if (!S_ISLNK(status.st_mode) && is_others && (status.st_mode & S_ISVTX) == 0) {
    return base::fail("other users may write to {}", path);
  }
  return {};
}

}  // namespace

// Nothing is written to a path in which another user can place links: root's files would go where that user likes. Links are followed one
// by one, since each of them, and what it is in, could be exchanged.
base::Result<> check_owners(const std::string& path) {
  constexpr int kLinkLimit = 40;  // as of the kernel
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return base::fail("can't look at {}: {}", path, error.message());
  std::vector<fs::path> rest;  // the next one last
  const auto put_before = [&rest](const fs::path& parts) {
    const std::vector<fs::path> names(parts.begin(), parts.end());
    rest.insert(rest.end(), names.rbegin(), names.rend());
  };
  put_before(whole);
  fs::path at = "/";
  for (int links = 0; !rest.empty();) {
    const fs::path name = std::exchange(rest.back(), {});
    rest.pop_back();
    if (name.empty() || name == ".") continue;
    at = name == ".." ? at.parent_path() : at / name;
    struct stat status{};
    if (lstat(at.c_str(), &status) != 0) break;
    HEAPTAP_TRY(check_status(at.native(), status));
    if (!S_ISLNK(status.st_mode)) continue;
    if (++links > kLinkLimit) return base::fail("{} has too many links", path);
    put_before(fs::read_symlink(at, error));
    if (error) return base::fail("can't look at {}: {}", at.native(), error.message());
    at = at.parent_path();
  }
  return {};
}

std::string build_id_path(const std::string& build_id) {
  std::string path = ".build-id/" + base::hex_text(build_id.substr(0, 1));
  if (!build_id.empty()) path += '/' + base::hex_text(build_id.substr(1));
  return path;
}

NewCacheFile::NewCacheFile(NewCacheFile&& other) noexcept
    : file_(std::move(other.file_)),
      temporary_(std::exchange(other.temporary_, {})),
      directory_(std::move(other.directory_)),
      path_(std::move(other.path_)),
      build_id_(std::move(other.build_id_)) {}

NewCacheFile::~NewCacheFile() {
  if (!temporary_.empty()) (void)unlink(temporary_.c_str());
}

base::Result<> NewCacheFile::write(std::string_view bytes) {
  if (base::write_all(file_.get(), bytes)) return {};
  return base::fail("can't write {}: {}", temporary_, base::reason_of(errno));
}

base::Result<> NewCacheFile::finish() {
  file_.reset();
  const auto file = ElfFile::open(temporary_);
  if (!file || file->build_id() != build_id_) return base::fail("the received file has a different build-id");
  HEAPTAP_TRY(make_directories(directory_));
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return base::fail("can't rename {} to {}: {}", temporary_, path_, base::reason_of(errno));
  }
  temporary_.clear();
  return {};
}

std::optional<FileCache> FileCache::of_user() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return FileCache(fmt::format("{}/heaptap", cache));
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return FileCache(fmt::format("{}/.cache/heaptap", home));
  return std::nullopt;
}

std::string FileCache::path_of(const std::string& build_id) const {
  return fmt::format("{}/{}", directory_, build_id_path(build_id));
}

void FileCache::note_use(const std::string& build_id) const {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 0, .tv_nsec = UTIME_NOW}};
  (void)utimensat(AT_FDCWD, path_of(build_id).c_str(), times, AT_SYMLINK_NOFOLLOW);
}

base::Result<NewCacheFile> FileCache::begin(const std::string& build_id) const {
  HEAPTAP_TRY(check_owners(directory_));
  HEAPTAP_TRY(make_directories(directory_));
  std::string temporary = fmt::format("{}/{}XXXXXX", directory_, kTemporary);
  base::UniqueFd file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return base::fail("can't make a file in {}: {}", directory_, base::reason_of(errno));
  std::string path = path_of(build_id);
  std::string directory = path.substr(0, path.rfind('/'));
  return NewCacheFile(std::move(file), std::move(temporary), std::move(directory), std::move(path), build_id);
}

void FileCache::make_room() const {
  const time_t now = time(nullptr);
  for (const Kept& file : files_in<fs::directory_iterator>(directory_)) {
    const bool is_left =
        file.path.filename().native().starts_with(kTemporary) && now - file.used.tv_sec > kLongestWrite;
    if (is_left) (void)unlink(file.path.c_str());
  }
  std::vector<Kept> files = files_in<fs::recursive_directory_iterator>(directory_ + "/.build-id");
  std::ranges::sort(files, is_earlier);
  uint64_t bytes = 0;
  for (const Kept& file : files) bytes += file.bytes;
  for (size_t i = 0; i + 1 < files.size() && bytes > max_bytes_; ++i) {
    if (unlink(files[i].path.c_str()) == 0) bytes -= files[i].bytes;
  }
}

}  // namespace heaptap::symbols
