#include "collect/preload_path.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/fresh_name.h"
#include "base/unique_fd.h"
#include "wire/handshake.h"

namespace heaptap::collect {
namespace {

bool divides_list(std::string_view path) { return path.find_first_of(" :$") != std::string_view::npos; }

// Where others may look into, so that a program of another user can.
std::string make_folder() {
  constexpr mode_t kForAllToRead = 0755;
  const char* chosen = std::getenv("TMPDIR");
  const bool is_usable = chosen != nullptr && chosen[0] == '/' && !divides_list(chosen);
  for (const std::string parent : {is_usable ? chosen : "/tmp", "/tmp"}) {
    std::string folder = parent + "/heaptap-agent-";
    if (!base::make_fresh_folder(folder)) continue;
    if (chmod(folder.c_str(), kForAllToRead) == 0) return folder;
    rmdir(folder.c_str());
  }
  return {};
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
  if (!divides_list(agent) && !is_open_file(agent)) return PreloadPath(agent, "");
  const std::string folder = make_folder();
  const std::string link = folder + "/" + wire::kAgentFileName;
  const bool is_copied = for_others && is_open_file(agent);
  if (!folder.empty() && (is_copied ? copy_file(agent, link) : symlink(agent.c_str(), link.c_str()) == 0)) {
    return PreloadPath(link, folder);
  }
  const int reason = errno;
  if (!folder.empty()) rmdir(folder.c_str());
  if (is_open_file(agent)) {
    return base::fail("the agent has no place below /tmp: {}; lay {} beside heaptap-target, or set TMPDIR",
                      base::reason_of(reason), wire::kAgentFileName);
  }
  return base::fail(
      "{} can't be preloaded, since its path has a blank, a colon or a $, and a link to it can't be made: {}; move "
      "heaptap, or set TMPDIR",
      agent, base::reason_of(reason));
}

PreloadPath::PreloadPath(PreloadPath&& other) noexcept
    : path_(std::move(other.path_)), folder_(std::exchange(other.folder_, {})) {}

PreloadPath::~PreloadPath() {
  if (folder_.empty()) return;
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

}  // namespace heaptap::collect
