#include "host/app/output_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "host/app/trace_name.h"

namespace heaptap::app {

namespace fs = std::filesystem;

base::Result<> check_output(const RunOptions& options) {
  const size_t named = options.processes.size() + (options.command.empty() ? 0 : 1);
  if (named > 1 && !options.output.empty() && options.output.find("%p") == std::string::npos) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "-o {} is one file, and {} processes are to be recorded: put %p (the pid) into the name",
                         options.output, named);
  }
  const fs::path pattern = options.output.empty() ? fs::path("trace") : fs::path(options.output);
  const fs::path folder = pattern.has_parent_path() ? pattern.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return base::fail("can't write the trace to {}: there is no folder {}", options.output, folder.string());
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return base::fail("can't write the trace into the folder {}: {}; choose another place with -o FILE",
                      folder.string(), base::reason_of(errno));
  }
  if (fs::is_directory(pattern, error) && !options.output.empty()) {
    return base::fail("can't write the trace to {}: it is a directory; name a file in it", options.output);
  }
  const bool is_known = !options.output.empty() && options.output.find("%p") == std::string::npos;
  const std::string path = is_known ? trace_path(options.output, "", 0, 0) : (folder / ".heaptap.probe").string();
  if (is_known && fs::exists(path, error)) {
    if (!options.force) {
      return base::fail("{} exists already: choose another name with -o FILE, or overwrite it with --force", path);
    }
    return {};
  }
  // Only making a file tells whether one can be made.
  const int probe = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (probe < 0) {
    return base::fail("can't write the trace to {}: {}; choose another place with -o FILE",
                      is_known ? path : folder.string(), base::reason_of(errno));
  }
  close(probe);
  fs::remove(path, error);
  return {};
}

}  // namespace heaptap::app
