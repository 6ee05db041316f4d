#include "apps/heaptap/commands/agent_file.h"

#include <filesystem>

#include "common/wire/handshake.h"

namespace heaptap::app {

namespace fs = std::filesystem;

base::Result<std::string> find_agent() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& directory : {own.parent_path(), own.parent_path().parent_path() / "lib" / "heaptap"}) {
    const fs::path candidate = directory / wire::kAgentFileName;
    if (fs::exists(candidate, error)) return candidate.string();
  }
  return base::fail("{} not found next to {}: build it with ./dev build, or reinstall heaptap", wire::kAgentFileName,
                    own.string());
}

}  // namespace heaptap::app
