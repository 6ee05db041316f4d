#include "collect/preload_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace heaptap::collect {
namespace {

bool divides_list(std::string_view path) { return path.find_first_of(" :$") != std::string_view::npos; }

// Where others may look into, so that a program of another user can.
std::string make_folder() {
  constexpr mode_t kForAllToRead = 0755;
  const char* chosen = std::getenv("TMPDIR");
  const bool is_usable = chosen != nullptr && chosen[0] == '/' && !divides_list(chosen);
  for (const std::string parent : {is_usable ? chosen : "/tmp", "/tmp"}) {
    std::string folder = parent + "/heaptap-agent-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) continue;
    if (chmod(folder.c_str(), kForAllToRead) == 0) return folder;
    rmdir(folder.c_str());
  }
  return {};
}

}  // namespace

base::Result<PreloadPath> PreloadPath::create(const std::string& agent) {
  if (!divides_list(agent)) return PreloadPath(agent, "");
  const std::string folder = make_folder();
  const std::string link = folder + agent.substr(agent.rfind('/'));
  if (!folder.empty() && symlink(agent.c_str(), link.c_str()) == 0) return PreloadPath(link, folder);
  const int reason = errno;
  if (!folder.empty()) rmdir(folder.c_str());
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
