#include "base/command_search.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace heaptap::base {

bool is_command(const std::string& name) {
  if (name.empty()) return false;
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (access(((directory.empty() ? "." : directory) + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace heaptap::base
