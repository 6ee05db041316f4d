#include "analysis/symbol_server/directories.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace heaptap::symbol_server {
namespace {

// So that a FIFO doesn't block.
constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;

// Whether each component is a plain name.
bool leads_downwards(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(part.size());
    if (path == "/") return false;
    if (!path.empty()) path.remove_prefix(1);
  }
  return true;
}

}  // namespace

base::UniqueFd open_part_by_part(int directory, const std::string& path, int flags) {
  if (!leads_downwards(path)) return {};
  base::UniqueFd at;
  for (size_t begin = 0;;) {
    const size_t end = path.find('/', begin);
    const bool is_last = end == std::string::npos;
    const std::string part = path.substr(begin, end - begin);
    const int wanted = is_last ? flags : kFlags | O_DIRECTORY;
    base::UniqueFd next(openat(at ? at.get() : directory, part.empty() ? "." : part.c_str(), wanted));
    if (!next || is_last) return next;
    at = std::move(next);
    begin = end + 1;
  }
}

base::Result<Directories> Directories::open(const std::vector<std::string>& paths) {
  Directories directories;
  for (const std::string& path : paths) {
    base::UniqueFd directory(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!directory) {
      return base::fail_as(base::ErrorKind::kNotFound, "can't open the directory {}: {}", path, base::reason_of(errno));
    }
    directories.directories_.push_back(std::move(directory));
  }
  return directories;
}

base::UniqueFd Directories::open_beneath(const FilePlace& place, int flags) const {
  if (place.directory >= directories_.size() || !leads_downwards(place.path)) return {};
  const int directory = directories_[place.directory].get();
  open_how how{};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const char* const path = place.path.empty() ? "." : place.path.c_str();
  base::UniqueFd file(static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof(how))));
  // Kernels before 5.6, and seccomp filters without openat2.
  if (file || (errno != ENOSYS && errno != EPERM)) return file;
  return open_part_by_part(directory, place.path, flags);
}

base::UniqueFd Directories::open_file(const FilePlace& place) const {
  base::UniqueFd file = open_beneath(place, kFlags);
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

base::UniqueFd Directories::open_directory(const FilePlace& place) const {
  return open_beneath(place, kFlags | O_DIRECTORY);
}

}  // namespace heaptap::symbol_server
