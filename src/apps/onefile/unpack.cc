#include "apps/onefile/unpack.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "apps/onefile/archive.h"
#include "apps/onefile/tree.h"

namespace heaptap::onefile {
namespace {

// Names beside the finished ones, used by the process that has the lock.
constexpr const char* kNew = ".new";
constexpr const char* kOld = ".old";

bool is_there(const OpenPlace& place, const std::string& name, const std::vector<Entry>& entries) {
  const base::UniqueFd directory(
      openat(place.directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  return directory && fstat(directory.get(), &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & 022) == 0 && is_intact(directory.get(), entries);
}

// Of the directory's descriptor: no file is left behind, and it ends with this process.
base::Result<> lock(const OpenPlace& place) {
  while (flock(place.directory.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return base::fail("can't lock {}: {}", place.path, base::reason_of(errno));
  }
  return {};
}

base::Result<> put_new(const OpenPlace& place, const std::string& name, const std::vector<Entry>& entries) {
  const int directory = place.directory.get();
  remove_tree(directory, kNew);
  {
    const auto made = open_own_directory(directory, kNew, place.path + "/" + kNew);
    if (!made) return std::unexpected(made.error());
    HEAPTAP_TRY(write_tree(made->get(), entries));
  }
  remove_tree(directory, kOld);
  if (renameat(directory, name.c_str(), directory, kOld) != 0 && errno != ENOENT) {
    return base::fail("can't rename {}/{}: {}", place.path, name, base::reason_of(errno));
  }
  if (renameat(directory, kNew, directory, name.c_str()) != 0) {
    return base::fail("can't rename {}/{}: {}", place.path, kNew, base::reason_of(errno));
  }
  remove_tree(directory, kOld);
  return {};
}

}  // namespace

base::Result<std::string> programs_in(const Place& where, const Payload& payload) {
  const auto entries = parse_archive(payload.archive);
  if (!entries) return std::unexpected(entries.error());
  const auto place = open_place(where);
  if (!place) return std::unexpected(place.error());
  if (!is_there(*place, payload.name, *entries)) {
    HEAPTAP_TRY(lock(*place));
    if (!is_there(*place, payload.name, *entries)) {
      if (const auto done = put_new(*place, payload.name, *entries); !done) {
        remove_tree(place->directory.get(), kNew);
        return base::fail("{}: {}", place->path, done.error().message);
      }
    }
  }
  return place->path + "/" + payload.name;
}

base::Result<> unpack_to(const std::string& path, const Payload& payload) {
  const auto entries = parse_archive(payload.archive);
  if (!entries) return std::unexpected(entries.error());
  if (mkdir(path.c_str(), 0755) != 0)
    return base::fail("can't make the directory {}: {}", path, base::reason_of(errno));
  const base::UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return base::fail("can't open {}: {}", path, base::reason_of(errno));
  if (const auto done = write_tree(directory.get(), *entries); !done) {
    remove_tree(AT_FDCWD, path);
    return base::fail("{}: {}", path, done.error().message);
  }
  return {};
}

}  // namespace heaptap::onefile
