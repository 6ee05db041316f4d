#include "apps/heaptap/commands/agent_file.h"

#include <filesystem>

#include "common/wire/handshake.h"
#include "common/wire/injected_agent.h"

namespace heaptap::app {

namespace fs = std::filesystem;

namespace {

base::Result<std::string> find_beside(const char* name) {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& directory : {own.parent_path(), own.parent_path().parent_path() / "lib" / "heaptap"}) {
    const fs::path candidate = directory / name;
    if (fs::exists(candidate, error)) return candidate.string();
  }
  return base::fail("{} not found next to {}: build it with ./dev build, or reinstall heaptap", name, own.string());
}

}  // namespace

base::Result<std::string> find_agent() { return find_beside(wire::kAgentFileName); }

base::Result<std::string> find_injected_agent() { return find_beside(wire::kInjectedAgentFileName); }

}  // namespace heaptap::app
