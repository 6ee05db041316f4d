#include "apps/heaptap/commands/output_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "capture/supervision/trace_name.h"
#include "common/base/unique_fd.h"

namespace heaptap::app {

namespace fs = std::filesystem;
namespace {

// Only creating a file shows whether it is possible. Never an existing file, nor the target of a link: others may have
// write access to the directory.
base::Result<> try_to_make(const fs::path& path, const fs::path& shown) {
  base::UniqueFd probe(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!probe && errno == EEXIST && path != shown) return {};  // another process could create it
  if (!probe) {
    return base::fail("can't write the trace to {}: {}; choose another place with -o FILE", shown.string(),
                      base::reason_of(errno));
  }
  probe.reset();
  std::error_code ignored;
  fs::remove(path, ignored);
  return {};
}

}  // namespace

base::Result<> check_output(const RunOptions& options) {
  const size_t named = options.processes.size() + (options.command.empty() ? 0 : 1);
  if (named > 1 && !options.output.empty() && options.output.find("%p") == std::string::npos) {
    return base::fail_as(base::ErrorKind::kUsage, "-o {} is one file for {} processes: put %p (the PID) into the name",
                         options.output, named);
  }
  const fs::path pattern = options.output.empty() ? fs::path("trace") : fs::path(options.output);
  const fs::path directory = pattern.has_parent_path() ? pattern.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return base::fail("can't write the trace to {}: no directory {}", options.output, directory.string());
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return base::fail("can't write the trace into the directory {}: {}; choose another place with -o FILE",
                      directory.string(), base::reason_of(errno));
  }
  if (fs::is_directory(pattern, error) && !options.output.empty()) {
    return base::fail("can't write the trace to {}: it is a directory; name a file in it", options.output);
  }
  const bool is_known = !options.output.empty() && options.output.find("%p") == std::string::npos;
  if (!is_known || options.number_files)
    return try_to_make(directory / fmt::format(".heaptap.probe.{}", getpid()), directory);
  const std::string path = supervision::trace_path(options.output, "", 0, 0);
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::not_found) return try_to_make(path, path);
  if (type == fs::file_type::symlink) {
    return base::fail(
        "can't write the trace to {}: it is a symbolic link, which may lead anywhere; name the file itself, or remove "
        "the link",
        path);
  }
  if (!options.force) {
    return base::fail("{} exists already: choose another name with -o FILE, or overwrite it with --force", path);
  }
  return {};
}

}  // namespace heaptap::app
