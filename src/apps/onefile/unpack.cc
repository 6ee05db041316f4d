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
constexpr const char* kLock = ".lock";

bool is_there(const OpenPlace& place, const std::string& name, const std::vector<Entry>& entries) {
  const base::UniqueFd directory(
      openat(place.directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  return directory && fstat(directory.get(), &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & 022) == 0 && is_intact(directory.get(), entries);
}

// Of a file that nobody else can open: root's directory is open to all, and who can open it could hold its lock for ever. It ends with
// this process at the latest; the file stays.
base::Result<base::UniqueFd> lock(const OpenPlace& place) {
  const std::string path = place.path + "/" + kLock;
  base::UniqueFd file(
      openat(place.directory.get(), kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return base::fail("can't open {}: {}", path, base::reason_of(errno));
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return base::fail("other users may open {}: remove it", path);
  }
  while (flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return base::fail("can't lock {}: {}", path, base::reason_of(errno));
  }
  return file;
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
    const auto locked = lock(*place);
    if (!locked) return std::unexpected(locked.error());
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
