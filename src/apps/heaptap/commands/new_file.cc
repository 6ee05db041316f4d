#include "apps/heaptap/commands/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "apps/heaptap/commands/interruption.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"

namespace heaptap::app {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;

// Fails if another process has created the file in the meantime. Not all file systems support this flag of rename;
// those have links.
bool rename_to_new(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return link(from, to) == 0 && unlink(from) == 0;
}

// Read without changing it, which would affect files that other threads create at this moment.
mode_t own_mask() {
  constexpr int kOctal = 8;
  const std::string status = base::read_small_file("/proc/self/status");
  if (const auto mask = base::status_number(status, "Umask", kOctal)) return static_cast<mode_t>(*mask);
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

base::Error refusal(const std::string& path) {
  return base::make_error("'{}' already exists: --force replaces it", path);
}

}  // namespace

NewFile::NewFile(std::string path, std::string temporary, bool force, base::UniqueFd descriptor)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      place_(temporary_.empty() ? interruption::kNoPlace : interruption::remember_file(temporary_)),
      force_(force),
      descriptor_(std::move(descriptor)) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      place_(std::exchange(other.place_, interruption::kNoPlace)),
      force_(other.force_),
      descriptor_(std::move(other.descriptor_)),
      kept_(std::move(other.kept_)),
      error_(other.error_) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) (void)unlink(temporary_.c_str());
  interruption::forget_file(place_);
}

base::Result<NewFile> NewFile::create(const std::string& path, bool force) {
  // Renaming would replace /dev/null, for instance. Opening a pipe without a reader blocks, as in any other program.
  if (path == "-") {
    base::UniqueFd output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!output) return base::fail("can't write to the standard output: {}", base::reason_of(errno));
    return NewFile(path, "", force, std::move(output));
  }
  struct stat target{};
  const bool leads_to_file = stat(path.c_str(), &target) != 0 || S_ISREG(target.st_mode) || S_ISDIR(target.st_mode);
  if (!leads_to_file) {
    base::UniqueFd descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!descriptor) return base::fail("can't write '{}': {}", path, base::reason_of(errno));
    return NewFile(path, "", force, std::move(descriptor));
  }
  struct stat status{};
  const bool is_there = lstat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) return base::fail("'{}' is a directory: name a file", path);
  if (is_there && !force) return std::unexpected(refusal(path));
  std::string temporary = path + ".XXXXXX";
  base::UniqueFd descriptor(mkostemp(temporary.data(), O_CLOEXEC));
  if (!descriptor) return base::fail("can't write '{}': {}", path, base::reason_of(errno));
  (void)fchmod(descriptor.get(), 0666 & ~own_mask());
  return NewFile(path, std::move(temporary), force, std::move(descriptor));
}

void NewFile::write(std::string_view piece) {
  kept_ += piece;
  if (kept_.size() >= kPieceBytes) flush();
}

void NewFile::flush() {
  for (size_t done = 0; done < kept_.size() && error_ == 0;) {
    const ssize_t written = ::write(descriptor_.get(), kept_.data() + done, kept_.size() - done);
    if (written > 0)
      done += static_cast<size_t>(written);
    else if (written == 0 || errno != EINTR)
      error_ = written == 0 ? ENOSPC : errno;
  }
  kept_.clear();
}

base::Result<> NewFile::finish() {
  flush();
  if (error_ != 0) return base::fail("can't write '{}': {}", path_, base::reason_of(error_));
  if (temporary_.empty()) return {};
  const bool named =
      force_ ? rename(temporary_.c_str(), path_.c_str()) == 0 : rename_to_new(temporary_.c_str(), path_.c_str());
  if (!named && errno == EEXIST) return std::unexpected(refusal(path_));
  if (!named) return base::fail("can't write '{}': {}", path_, base::reason_of(errno));
  temporary_.clear();
  interruption::forget_file(std::exchange(place_, interruption::kNoPlace));
  return {};
}

}  // namespace heaptap::app
