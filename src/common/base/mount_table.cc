#include "common/base/mount_table.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/whole_number.h"

namespace heaptap::base {
namespace {

// Blanks and the like stand there as \040.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 3);
    const bool is_octal = text[i] == '\\' && digits.size() == 3 &&
                          std::ranges::all_of(digits, [](char digit) { return digit >= '0' && digit <= '7'; });
    if (!is_octal) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((digits[0] - '0') << 6 | (digits[1] - '0') << 3 | (digits[2] - '0'));
    i += 3;
  }
  return plain;
}

bool holds(std::string_view directory, std::string_view path) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

// proc(5): "36 35 98:0 /below /mnt rw,noatime master:1 - ext3 /dev/root rw", with none to several fields before the "-".
std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  constexpr size_t kFirstOptional = 6;
  std::vector<Mount> mounts;
  for (const std::string& line : split(std::string(mountinfo), '\n')) {
    const std::vector<std::string> fields = split(line, ' ');
    if (fields.size() <= kFirstOptional) continue;
    const auto end = std::find(fields.begin() + kFirstOptional, fields.end(), "-");
    if (end == fields.end() || end + 1 == fields.end()) continue;
    const std::vector<std::string> device = split(fields[2], ':');
    const auto number = whole_number<uint64_t>(fields[0]);
    const auto major = device.size() == 2 ? whole_number<unsigned>(device[0]) : std::nullopt;
    const auto minor = device.size() == 2 ? whole_number<unsigned>(device[1]) : std::nullopt;
    if (!number || !major || !minor) continue;
    mounts.push_back({.number = *number,
                      .device = makedev(*major, *minor),
                      .point = unescaped(fields[4]),
                      .type = end[1],
                      .root = unescaped(fields[3]),
                      .options = fields.end() - end > 3 ? end[3] : std::string()});
  }
  return mounts;
}

std::vector<Mount> read_mounts(pid_t thread) {
  return parse_mounts(read_small_file(process_file(thread, "mountinfo")));
}

// The kernel reports changes to processes that have the file open (fs/namespace.c, mounts_poll).
std::shared_ptr<const std::vector<Mount>> own_mounts() {
  static std::mutex mutex;
  static UniqueFd file;
  static pid_t owner = 0;  // a child that was forked may have closed it
  static std::shared_ptr<const std::vector<Mount>> known;
  const std::scoped_lock lock(mutex);
  pollfd change{.fd = file.get(), .events = POLLPRI, .revents = 0};
  const bool is_known = known != nullptr && owner == getpid() && file && poll(&change, 1, 0) == 0;
  if (is_known) return known;
  if (owner != getpid()) (void)file.release();
  file.reset(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  owner = getpid();
  known = std::make_shared<const std::vector<Mount>>(read_mounts(owner));
  return known;
}

const Mount* find_mount(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts) {  // of several at one place the last one is visible
    if (holds(mount.point, path) && (found == nullptr || mount.point.size() >= found->point.size())) found = &mount;
  }
  return found;
}

}  // namespace heaptap::base
