#include "common/channel/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/unique_fd.h"
#include "common/channel/failure.h"

namespace heaptap::channel {
namespace {

// Reads up to the file's end. False, and errno: it can't be read.
bool read_up_to(int file, size_t max_bytes, std::string& text) {
  text.resize(max_bytes + 1);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t bytes = ::read(file, text.data() + done, text.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return false;
    if (bytes == 0) break;
    done += static_cast<size_t>(bytes);
  }
  text.resize(done);
  return true;
}

}  // namespace

base::Result<std::optional<std::string>> read_owned_file(const std::string& path, std::string_view what,
                                                         FileAccess access, size_t max_bytes) {
  const std::string name = join({"the ", what, " '", path, "'"});
  // Without waiting for a writer: it may be a pipe.
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts{};
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file || fstat(file.get(), &facts) != 0) return fail({"can't read ", name, ": ", base::reason_of(errno)});
  if (!S_ISREG(facts.st_mode)) return fail({name, " is not a regular file"});
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    return fail({name, " belongs to another user, who can change it: use a file of your own"});
  }
  if (access == FileAccess::kReadByOwner && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(
        {name, " is accessible to other users: `chmod 600 ", path, "`, and make a new one if others may have read it"});
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail({name, " is writable by other users: `chmod go-w ", path, "`, and check its content"});
  }
  std::string text;
  if (!read_up_to(file.get(), max_bytes, text)) return fail({"can't read ", name, ": ", base::reason_of(errno)});
  return text;
}

}  // namespace heaptap::channel
