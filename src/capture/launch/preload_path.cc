#include "capture/launch/preload_path.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/fresh_name.h"
#include "common/base/unique_fd.h"
#include "common/wire/handshake.h"

namespace heaptap::launch {
namespace {

bool divides_list(std::string_view path) { return path.find_first_of(" :$") != std::string_view::npos; }

// In a directory readable by other users, so that a program of another user can load it. False: see errno.
bool make_directory_in(const std::string& parent, std::string& directory) {
  constexpr mode_t kForAllToRead = 0755;
  directory = parent + "/heaptap-agent-";
  if (!base::make_fresh_directory(directory)) return false;
  if (chmod(directory.c_str(), kForAllToRead) == 0) return true;
  const int reason = errno;
  rmdir(directory.c_str());
  errno = reason;
  return false;
}

// Directories of machines without /tmp, or with a noexec one.
std::vector<std::string> places() {
  const char* const chosen = std::getenv("TMPDIR");
  std::vector<std::string> places;
  if (chosen != nullptr && chosen[0] == '/' && !divides_list(chosen)) places.emplace_back(chosen);
  for (const char* const place : {"/tmp", "/dev/shm", "/run", "/var/tmp"}) places.emplace_back(place);
  return places;
}

// False: its file system is mounted with noexec; the loader would skip it, with a message on the program's standard
// error.
bool can_be_mapped(const std::string& path) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return true;  // another reason
  constexpr size_t kSomeBytes = 4096;
  void* const mapped = mmap(nullptr, kSomeBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return errno != EPERM && errno != EACCES;
  munmap(mapped, kSomeBytes);
  return true;
}

bool is_open_file(std::string_view path) { return path.starts_with("/proc/"); }

bool copy_file(const std::string& from, const std::string& to) {
  constexpr mode_t kForAllToRead = 0755;
  const base::UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const base::UniqueFd copy(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kForAllToRead));
  if (!source || !copy) return false;
  struct stat status{};
  if (fstat(source.get(), &status) != 0) return false;
  off_t offset = 0;
  while (offset < status.st_size) {
    const ssize_t count = sendfile(copy.get(), source.get(), &offset, static_cast<size_t>(status.st_size - offset));
    if (count <= 0 && !(count < 0 && errno == EINTR)) break;
  }
  if (offset == status.st_size) return true;
  unlink(to.c_str());
  return false;
}

}  // namespace

base::Result<PreloadPath> PreloadPath::create(const std::string& agent, bool for_others) {
  const bool is_open = is_open_file(agent);
  const bool is_copied = (for_others && is_open) || !can_be_mapped(agent);
  if (!divides_list(agent) && !is_open && !is_copied) return PreloadPath(agent, "");
  int reason = 0;
  for (const std::string& place : places()) {
    std::string directory;
    if (!make_directory_in(place, directory)) {
      if (reason == 0) reason = errno;
      continue;
    }
    const std::string path = directory + "/" + wire::kAgentFileName;
    const bool is_there = is_copied ? copy_file(agent, path) : symlink(agent.c_str(), path.c_str()) == 0;
    if (is_there && can_be_mapped(path)) return PreloadPath(path, directory);
    if (reason == 0) reason = is_there ? EPERM : errno;
    unlink(path.c_str());
    rmdir(directory.c_str());
  }
  // By a path that is less informative in reports.
  if (is_open && !is_copied) return PreloadPath(agent, "");
  if (is_copied) {
    return base::fail(
        "no directory to load the agent from, such as /tmp: {}; put {} next to heaptap-target, or set TMPDIR",
        base::reason_of(reason), wire::kAgentFileName);
  }
  return base::fail(
      "{} can't be preloaded, since its path has a blank, a colon or a $, and a link to it can't be made: {}; move "
      "heaptap, or set TMPDIR",
      agent, base::reason_of(reason));
}

PreloadPath::PreloadPath(PreloadPath&& other) noexcept
    : path_(std::move(other.path_)), directory_(std::exchange(other.directory_, {})) {}

PreloadPath::~PreloadPath() {
  if (directory_.empty()) return;
  unlink(path_.c_str());
  rmdir(directory_.c_str());
}

}  // namespace heaptap::launch
