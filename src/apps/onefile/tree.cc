#include "apps/onefile/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "common/base/unique_fd.h"
#include "common/base/write_all.h"

namespace heaptap::onefile {
namespace {

constexpr mode_t kPermissions = 0777;

bool has_bytes(int file, std::string_view wanted) {
  constexpr size_t kPieceBytes = size_t{256} << 10;
  const auto piece = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  while (!wanted.empty()) {
    const ssize_t count = read(file, piece.get(), std::min(kPieceBytes, wanted.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || std::memcmp(piece.get(), wanted.data(), static_cast<size_t>(count)) != 0) return false;
    wanted.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool is_link_as(int directory, const Entry& entry) {
  std::string target(entry.link.size() + 1, '\0');
  const ssize_t count = readlinkat(directory, entry.path.c_str(), target.data(), target.size());
  return count >= 0 && target.substr(0, static_cast<size_t>(count)) == entry.link;
}

bool is_as(int directory, const Entry& entry) {
  if (entry.kind == Entry::Kind::kLink) return is_link_as(directory, entry);
  const bool is_directory = entry.kind == Entry::Kind::kDirectory;
  // O_NONBLOCK: a pipe in place of a file
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (is_directory ? O_DIRECTORY : 0);
  const base::UniqueFd file(openat(directory, entry.path.c_str(), flags));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || status.st_uid != geteuid() ||
      (status.st_mode & kPermissions) != entry.mode) {
    return false;
  }
  if (is_directory) return true;
  return S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) == entry.content.size() &&
         has_bytes(file.get(), entry.content);
}

base::Result<> write_file(int directory, const Entry& entry) {
  const auto failed = [&] { return base::fail("can't write {}: {}", entry.path, base::reason_of(errno)); };
  const base::UniqueFd file(
      openat(directory, entry.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || !base::write_all(file.get(), entry.content) || fchmod(file.get(), entry.mode) != 0) return failed();
  return {};
}

base::Result<> write_entry(int directory, const Entry& entry) {
  if (entry.kind == Entry::Kind::kFile) return write_file(directory, entry);
  const bool is_made = entry.kind == Entry::Kind::kLink
                           ? symlinkat(entry.link.c_str(), directory, entry.path.c_str()) == 0
                           : mkdirat(directory, entry.path.c_str(), entry.mode) == 0 &&
                                 fchmodat(directory, entry.path.c_str(), entry.mode, 0) == 0;
  if (!is_made) return base::fail("can't make {}: {}", entry.path, base::reason_of(errno));
  return {};
}

struct CloseStream {
  void operator()(DIR* stream) const { (void)closedir(stream); }
};

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  base::UniqueFd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseStream> stream(own ? fdopendir(own.get()) : nullptr);
  if (!stream) return names;
  (void)own.release();  // the stream's
  while (const dirent* const each = readdir(stream.get())) {
    const std::string name = each->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace

bool is_intact(int directory, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (!is_as(directory, entry)) return false;
  }
  return true;
}

base::Result<> write_tree(int directory, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) HEAPTAP_TRY(write_entry(directory, entry));
  return {};
}

void remove_tree(int directory, const std::string& name) {
  if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return;
  {
    const base::UniqueFd inner(openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) return;
    for (const std::string& each : names_in(inner.get())) remove_tree(inner.get(), each);
  }
  (void)unlinkat(directory, name.c_str(), AT_REMOVEDIR);
}

}  // namespace heaptap::onefile
