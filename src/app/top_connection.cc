#include "app/top_connection.h"

#include <sys/stat.h>

#include <vector>

namespace heaptap::app {

bool is_socket(const std::string& word) {
  if (word.starts_with('@')) return true;
  struct stat facts{};
  return stat(word.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode);
}

base::Result<std::unique_ptr<live::Recording>> connect_to_recorded(uint32_t pid) {
  return base::fail("process {} can't be watched by this version of heaptap; `heaptap attach {}` records it", pid, pid);
}

base::Result<std::unique_ptr<live::Recording>> connect_to_running(const std::string& /*socket*/) {
  return base::fail_as(base::ErrorKind::kUsage, "top: what of? Name a trace");
}

}  // namespace heaptap::app
