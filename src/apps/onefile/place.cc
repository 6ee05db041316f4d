#include "apps/onefile/place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "common/base/file_owner.h"
#include "common/base/small_file.h"

namespace heaptap::onefile {
namespace {

constexpr mode_t kWritableByOthers = 022;

// What root unpacks is executed by others as well: the agent, in programs of --user.
mode_t own_mode() { return geteuid() == 0 ? 0755 : 0700; }

std::string absolute_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : "";
}

base::Result<> check_directory(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return base::fail("can't look at {}: {}", path, base::reason_of(errno));
  if (base::is_anothers(status)) return base::fail("{} belongs to another user", path);
  if ((status.st_mode & kWritableByOthers) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return base::fail("other users may write to {}", path);
  }
  return {};
}

// Whether no other user can exchange the directory itself, or one above it. `path` has no links.
base::Result<> check_way_to(const std::string& path) {
  HEAPTAP_TRY(check_directory("/"));
  for (size_t slash = path.find('/', 1); slash != 0; slash = slash == path.npos ? 0 : path.find('/', slash + 1)) {
    HEAPTAP_TRY(check_directory(path.substr(0, slash)));
  }
  return {};
}

std::string without_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : "";
}

// Splits off what is missing of `path`, which becomes the deepest directory that is there, without links.
base::Result<std::vector<std::string>> split_missing(std::string& path) {
  std::vector<std::string> missing;
  std::string real;
  while ((real = without_links(path)).empty()) {
    if (errno != ENOENT || base::exists(path)) return base::fail("can't reach {}: {}", path, base::reason_of(errno));
    missing.insert(missing.begin(), std::string(base::file_name_of(path)));
    path.resize(path.rfind('/'));
    if (path.empty()) path = "/";
  }
  path = real;
  return missing;
}

}  // namespace

std::vector<Place> places_of_user() {
  const std::vector<std::string> in_cache{"heaptap", "programs"};
  std::vector<Place> places;
  if (const std::string cache = absolute_variable("XDG_CACHE_HOME"); !cache.empty())
    places.push_back({cache, in_cache});
  if (geteuid() == 0) places.push_back({"/var/cache", in_cache});
  if (const std::string home = absolute_variable("HOME"); !home.empty()) places.push_back({home + "/.cache", in_cache});
  const std::string temporary = absolute_variable("TMPDIR");
  places.push_back({temporary.empty() ? "/tmp" : temporary, {fmt::format("heaptap-programs.{}", geteuid())}});
  return places;
}

base::Result<base::UniqueFd> open_own_directory(int parent, const std::string& name, const std::string& path) {
  const bool is_made = mkdirat(parent, name.c_str(), own_mode()) == 0;
  if (!is_made && errno != EEXIST) return base::fail("can't make {}: {}", path, base::reason_of(errno));
  base::UniqueFd directory(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!directory || fstat(directory.get(), &status) != 0) {
    const bool is_link = errno == ELOOP || errno == ENOTDIR;
    return base::fail("can't open {}: {}", path, is_link ? "it is a link or a file" : base::reason_of(errno));
  }
  if (status.st_uid != geteuid()) return base::fail("{} belongs to another user", path);
  if ((status.st_mode & kWritableByOthers) != 0) return base::fail("other users may write to {}", path);
  if (is_made && fchmod(directory.get(), own_mode()) != 0)
    return base::fail("can't make {}: {}", path, base::reason_of(errno));
  return directory;
}

base::Result<OpenPlace> open_place(const Place& place) {
  std::string path = place.base;
  auto names = split_missing(path);
  if (!names) return std::unexpected(names.error());
  HEAPTAP_TRY(check_way_to(path));
  base::UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return base::fail("can't open {}: {}", path, base::reason_of(errno));
  names->insert(names->end(), place.below.begin(), place.below.end());
  for (const std::string& name : *names) {
    path += (path.ends_with('/') ? "" : "/") + name;
    auto inner = open_own_directory(directory.get(), name, path);
    if (!inner) return std::unexpected(inner.error());
    directory = *std::move(inner);
  }
  struct statvfs system{};
  if (fstatvfs(directory.get(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0) {
    return base::fail("{} is on a filesystem that forbids programs (noexec)", path);
  }
  return OpenPlace{.directory = std::move(directory), .path = std::move(path)};
}

}  // namespace heaptap::onefile
