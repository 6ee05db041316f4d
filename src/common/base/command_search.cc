#include "common/base/command_search.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "common/base/small_file.h"

namespace heaptap::base {

bool is_command(const std::string& name) {
  if (name.empty()) return false;
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  for (const std::string& directory : split(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    if (access(((directory.empty() ? "." : directory) + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace heaptap::base
