#include "elf/object_file.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "process/bounded_calls.h"

namespace heaptap::elf {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // not to wait for the other end of a pipe

std::string read_link(const std::string& path) {
  std::array<char, 4096> text;
  const ssize_t bytes = readlink(path.c_str(), text.data(), text.size());
  return bytes > 0 ? std::string(text.data(), static_cast<size_t>(bytes)) : std::string();
}

std::string proc_path(pid_t thread, const std::string& name) { return "/proc/" + std::to_string(thread) + "/" + name; }

// Links on the way mean what they mean below that root.
base::UniqueFd open_below(const std::string& root, const std::string& path) {
  const base::UniqueFd folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {};
  open_how how{};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_IN_ROOT;
  const long file = syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof(how));
  if (file >= 0 || (errno != ENOSYS && errno != EPERM)) return base::UniqueFd(static_cast<int>(file));
  return base::UniqueFd(open((root + path).c_str(), kOpenFlags));
}

// FUSE (linux/magic.h).
constexpr auto kServedFiles = 0x65735546;
constexpr uint64_t kMaxCopyBytes = uint64_t{256} << 20;

// What a process that holds programs knows of files that they may serve. One thread.
struct ServedFiles {
  process::BoundedCalls calls;
  std::set<dev_t> silent;  // file systems that were waited for in vain
};
ServedFiles* served_files = nullptr;

base::UniqueFd copy_of(const base::UniqueFd& file, uint64_t most_bytes) {
  base::UniqueFd copy(memfd_create("heaptap-file", MFD_CLOEXEC));
  std::vector<char> piece(size_t{64} << 10);
  for (uint64_t at = 0; copy && at < most_bytes;) {
    const ssize_t got =
        pread(file.get(), piece.data(), std::min<uint64_t>(piece.size(), most_bytes - at), static_cast<off_t>(at));
    if (got < 0) return {};
    if (got == 0) break;
    if (pwrite(copy.get(), piece.data(), static_cast<size_t>(got), static_cast<off_t>(at)) != got) return {};
    at += static_cast<uint64_t>(got);
  }
  return copy;
}

// Opened by `open`; of a served file a copy, since even closing it waits for whoever serves it.
base::UniqueFd open_bounded(std::function<base::UniqueFd()> open, uint64_t most_bytes = kMaxCopyBytes) {
  if (served_files == nullptr) return open();
  struct Opened {
    base::UniqueFd file;
    int error = 0;
  };
  const auto opened = std::make_shared<Opened>();
  const auto outcome = served_files->calls.run([opened, most_bytes, open = std::move(open)] {
    opened->file = open();
    struct statfs system{};
    // Whoever serves it may not know the question.
    const bool is_served = opened->file && (fstatfs(opened->file.get(), &system) != 0 || system.f_type == kServedFiles);
    if (is_served) opened->file = copy_of(opened->file, most_bytes);
    opened->error = errno;
    return true;
  });
  errno = outcome == process::BoundedCalls::Outcome::kGivenUp ? ETIMEDOUT : opened->error;
  if (outcome == process::BoundedCalls::Outcome::kGivenUp) return {};
  return std::move(opened->file);
}

base::UniqueFd open_mapping(pid_t thread, const process::Mapping& mapping) {
  const std::string name = fmt::format("map_files/{:x}-{:x}", mapping.range.begin, mapping.range.end);
  return open_bounded([path = proc_path(thread, name)] { return base::UniqueFd(open(path.c_str(), kOpenFlags)); });
}

base::UniqueFd open_seen(pid_t thread, const std::string& path) {
  base::UniqueFd file =
      thread == 0 ? base::UniqueFd(open(path.c_str(), kOpenFlags)) : open_below(proc_path(thread, "root"), path);
  struct stat status{};
  if (!file) return file;
  if (fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) return file;
  errno = EINVAL;
  return {};
}

bool is_file_of(int file, const MappedObject& object) {
  struct stat status{};
  if (fstat(file, &status) == 0 && status.st_ino == object.first.inode && status.st_dev == object.first.device) {
    return true;
  }
  // Some file systems tell the memory map another device than fstat.
  return !object.build_id.empty() && read_build_id(FileBytes(file)) == object.build_id;
}

}  // namespace

void do_not_wait_for_served_files() { served_files = new ServedFiles; }

base::UniqueFd open_as_seen_by(pid_t thread, const std::string& path) {
  return open_bounded([thread, path] { return open_seen(thread, path); });
}

base::UniqueFd open_executable(pid_t thread, uint64_t most_bytes) {
  return open_bounded([path = proc_path(thread, "exe")] { return base::UniqueFd(open(path.c_str(), kOpenFlags)); },
                      most_bytes);
}

std::vector<uint8_t> read_build_id(const ByteSource& file) {
  const auto elf = ElfFile::read(file);
  if (!elf) return {};
  for (const ElfSegment& segment : elf->segments()) {
    if (segment.type != PT_NOTE) continue;
    auto id = find_note(file, elf->form(), segment.offset, segment.file_bytes, "GNU", NT_GNU_BUILD_ID);
    if (!id.empty()) return id;
  }
  // A separate debug file's segments say where the notes were in the other file.
  for (const ElfSection& section : elf->read_sections(file)) {
    if (section.type != SHT_NOTE) continue;
    auto id = find_note(file, elf->form(), section.offset, section.bytes, "GNU", NT_GNU_BUILD_ID);
    if (!id.empty()) return id;
  }
  return {};
}

ObjectFile open_object_file(pid_t thread, const MappedObject& object) {
  const dev_t device = object.first.device;
  if (served_files != nullptr && served_files->silent.contains(device)) return {{}, ETIMEDOUT};
  if (base::UniqueFd file = open_mapping(thread, object.first)) return {std::move(file), 0};
  int error = errno;
  for (const pid_t viewer : {thread, pid_t{0}}) {
    if (error == ETIMEDOUT && served_files != nullptr) {
      served_files->silent.insert(device);
      break;
    }
    base::UniqueFd file = open_as_seen_by(viewer, object.first.name);
    if (!file) {
      error = errno;
    } else if (is_file_of(file.get(), object)) {
      return {std::move(file), 0};
    } else {
      error = ObjectFile::kAnotherFile;
    }
  }
  return {{}, error};
}

std::string path_below_root(pid_t thread, std::string path) {
  const std::string root = read_link(proc_path(thread, "root"));
  if (root.size() > 1 && path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/') {
    path.erase(0, root.size());
  }
  return path;
}

std::string read_process_link(pid_t thread, const char* link) {
  return path_below_root(thread, read_link(proc_path(thread, link)));
}

}  // namespace heaptap::elf
