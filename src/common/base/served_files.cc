#include "common/base/served_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/base/process_file.h"
#include "common/base/sizes.h"
#include "common/base/small_file.h"
#include "common/base/whole_number.h"

namespace heaptap::base {
namespace {

constexpr std::array<std::string_view, 15> kServed{"fuse",   "fuseblk", "nfs",      "nfs4",   "cifs",
                                                   "smb3",   "9p",      "virtiofs", "autofs", "ceph",
                                                   "lustre", "afs",     "coda",     "ncpfs",  "orangefs"};

// Of "/proc/PID/exe" and the like; 0: no process.
pid_t process_in_path(std::string_view path) {
  constexpr std::string_view kDirectory = "/proc/";
  if (!path.starts_with(kDirectory)) return 0;
  path.remove_prefix(kDirectory.size());
  return whole_number<pid_t>(path.substr(0, path.find('/'))).value_or(0);
}

enum class Reach : uint8_t { kNowhere, kThere, kNotKnown };

// The mount id of a path (proc(5), fdinfo). Only from the kernel's cache: no file server is asked.
Reach reach(const FilePlace& place, uint64_t& mount) {
  UniqueFd root;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  if (process_in_path(place.path) == 0) {  // no magic link of the kernel, which leads to a file at once
    how.resolve = RESOLVE_CACHED;
    if (place.viewer != 0) {
      how.resolve |= RESOLVE_IN_ROOT;
      const std::string path = process_file(place.viewer, "root");
      root.reset(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!root) return Reach::kNowhere;
    }
  }
  const UniqueFd file(
      static_cast<int>(syscall(SYS_openat2, root ? root.get() : AT_FDCWD, place.path.c_str(), &how, sizeof(how))));
  const bool is_nothing = errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP;
  if (!file) return is_nothing ? Reach::kNowhere : Reach::kNotKnown;
  constexpr std::string_view kName = "mnt_id:";
  for (const std::string& line : split(read_small_file("/proc/self/fdinfo/" + std::to_string(file.get())), '\n')) {
    if (!line.starts_with(kName)) continue;
    const auto number = whole_number<uint64_t>(trimmed(std::string_view(line).substr(kName.size())));
    if (number) mount = *number;
    return number ? Reach::kThere : Reach::kNotKnown;
  }
  return Reach::kNotKnown;
}

bool has_same_mounts(pid_t viewer) {
  const std::string own = read_link("/proc/self/ns/mnt");
  return !own.empty() && read_link(process_file(viewer, "ns/mnt")) == own;
}

// Where nothing is mounted that is served, no more is looked at.
std::optional<FileServer> server_among(const std::vector<Mount>& mounts, const FilePlace& place) {
  if (std::ranges::none_of(mounts, is_served, &Mount::type)) return std::nullopt;
  if (place.device) {
    const auto mount = std::ranges::find(mounts, *place.device, &Mount::device);
    if (mount == mounts.end()) return FileServer{place.device, {}};  // it was unmounted, but for who uses it
    if (is_served(mount->type)) return FileServer{mount->device, mount->type};
  }
  uint64_t number = 0;
  const Reach found = reach(place, number);
  if (found == Reach::kNowhere) return std::nullopt;
  const auto mount = std::ranges::find(mounts, number, &Mount::number);
  if (found == Reach::kThere && mount != mounts.end()) {
    return is_served(mount->type) ? std::optional(FileServer{mount->device, mount->type}) : std::nullopt;
  }
  // A guess, for what is said of it, and for which file system is left alone.
  const Mount* const guess = find_mount(mounts, place.path);
  return guess != nullptr && is_served(guess->type) ? FileServer{guess->device, guess->type} : FileServer{};
}

}  // namespace

bool is_served(std::string_view type) {
  return type.starts_with("fuse.") || std::ranges::find(kServed, type) != kServed.end();
}

// Of the place itself, and of where this process would find the same path: callers try both.
std::optional<FileServer> ServedFiles::server_of(const FilePlace& place) {
  const pid_t viewer = place.viewer != 0 ? place.viewer : process_in_path(place.path);
  const auto own = own_mounts();
  if (viewer == 0 || has_same_mounts(viewer)) return server_among(*own, place);
  if (auto server = server_among(read_mounts(viewer), place)) return server;
  return server_among(*own, {.path = place.path});
}

ServedFiles& ServedFiles::of_process() {
  static ServedFiles files;
  return files;
}

bool ServedFiles::is_silent(const FileServer& server) const {
  const std::scoped_lock lock(mutex_);
  return given_up_.size() >= BoundedCalls::kMaxGivenUp || (server.device && silent_.contains(*server.device));
}

void ServedFiles::give_up(GivenUp what) {
  const std::scoped_lock lock(mutex_);
  if (what.file.device) silent_.insert(*what.file.device);
  given_up_.push_back(std::move(what));
}

bool ServedFiles::run(const FilePlace& place, const std::optional<FileServer>& server, std::function<void()> look) {
  if (!server) {
    look();
    return true;
  }
  if (is_silent(*server)) return false;
  const SilentFile file{.path = place.path, .type = server->type, .device = server->device};
  const auto tell = [&](Stage stage) {
    if (tell_) tell_(file, stage);
  };
  BoundedCalls calls(longest_);
  const auto is_looking = std::make_shared<std::atomic<bool>>(false);
  const auto call = [look = std::move(look), is_looking] {
    is_looking->store(true);
    look();
    is_looking->store(false);
    return true;
  };
  if (calls.run(call, [&] { tell(Stage::kWaits); }) == BoundedCalls::Outcome::kTrue) return true;
  give_up({.file = file, .is_awaited = is_looking});
  tell(Stage::kGivenUp);
  return false;
}

// A file that can't be closed without blocking stays open.
std::shared_ptr<const UniqueFd> ServedFiles::keep(const FilePlace& place, std::optional<FileServer> server,
                                                  UniqueFd file) {
  const auto close_it = [this, place, server = std::move(server)](UniqueFd* kept) {
    const int descriptor = kept->release();
    delete kept;
    (void)look<bool>(place, server, [descriptor] {
      const UniqueFd closed(descriptor);
      return true;
    });
  };
  return std::shared_ptr<UniqueFd>(new UniqueFd(std::move(file)), close_it);
}

std::vector<SilentFile> ServedFiles::given_up() const {
  const std::scoped_lock lock(mutex_);
  std::vector<SilentFile> files;
  for (const GivenUp& each : given_up_) files.push_back(each.file);
  return files;
}

std::vector<SilentFile> ServedFiles::awaited() const {
  const std::scoped_lock lock(mutex_);
  std::vector<SilentFile> files;
  for (const GivenUp& each : given_up_) {
    if (each.is_awaited->load()) files.push_back(each.file);
  }
  return files;
}

std::string abort_switch(const SilentFile& file) {
  if (!file.device || (!file.type.starts_with("fuse.") && file.type != "fuse")) return {};
  return "/sys/fs/fuse/connections/" + std::to_string(minor(*file.device)) + "/abort";
}

UniqueFd own_copy(UniqueFd file, uint64_t max_bytes) {
  constexpr auto kOfAProgram = 0x65735546;  // FUSE (linux/magic.h)
  struct statfs system{};
  // The server may not support the request.
  if (!file || (fstatfs(file.get(), &system) == 0 && system.f_type != kOfAProgram)) return file;
  UniqueFd copy(memfd_create("heaptap-file", MFD_CLOEXEC));
  std::vector<char> piece(size_t{64} << 10);
  for (uint64_t at = 0; copy && at < max_bytes;) {
    const ssize_t got = pread(file.get(), piece.data(), at_most(piece.size(), max_bytes - at), static_cast<off_t>(at));
    if (got < 0) return {};
    if (got == 0) return copy;
    if (pwrite(copy.get(), piece.data(), static_cast<size_t>(got), static_cast<off_t>(at)) != got) return {};
    at += static_cast<uint64_t>(got);
  }
  errno = copy ? EFBIG : errno;
  return {};
}

}  // namespace heaptap::base
