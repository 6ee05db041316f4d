#include "common/endpoint/own_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace heaptap::endpoint {
namespace {

// Owned by this user, not a link, and without the rights of `others`.
bool is_own(const std::string& path, mode_t others) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & others) == 0;
}

bool is_own_parent(const std::string& path) { return is_own(path, S_IWGRP | S_IWOTH); }
bool is_private(const std::string& path) { return is_own(path, S_IRWXG | S_IRWXO); }

// Each in a directory in which no other user can replace it: this user's, or /tmp, where the owner is checked.
std::vector<std::string> candidates() {
  std::vector<std::string> parents;
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (runtime != nullptr && runtime[0] == '/') parents.emplace_back(runtime);
  parents.push_back(fmt::format("/run/user/{}", geteuid()));
  if (geteuid() == 0) parents.emplace_back("/run");
  std::vector<std::string> paths;
  for (const std::string& parent : parents) {
    if (is_own_parent(parent)) paths.push_back(parent + "/heaptap");
  }
  paths.push_back(fmt::format("/tmp/heaptap-{}", geteuid()));
  return paths;
}

}  // namespace

std::vector<std::string> own_directories() {
  std::vector<std::string> paths = candidates();
  std::erase_if(paths, [](const std::string& path) { return !is_private(path); });
  return paths;
}

base::Result<std::string> make_own_directory() {
  const std::vector<std::string> paths = candidates();
  for (const std::string& path : paths) {
    const bool is_there = mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
    if (is_there && is_private(path)) return path;
  }
  return base::fail("no private directory for sockets: {} belongs to another user, or can't be made (with mode 0700)",
                    paths.back());
}

}  // namespace heaptap::endpoint
