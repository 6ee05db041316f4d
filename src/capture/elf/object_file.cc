#include "capture/elf/object_file.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::elf {
namespace {

constexpr int kFindFlags = O_PATH | O_CLOEXEC;
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // doesn't wait for a pipe's other end

// Resolves links within that root.
base::UniqueFd find_below(const std::string& root, const std::string& path) {
  const base::UniqueFd directory(open(root.c_str(), kFindFlags | O_DIRECTORY));
  if (!directory) return {};
  open_how how{};
  how.flags = kFindFlags;
  how.resolve = RESOLVE_IN_ROOT;
  const long file = syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof(how));
  if (file >= 0 || (errno != ENOSYS && errno != EPERM)) return base::UniqueFd(static_cast<int>(file));
  return base::UniqueFd(open((root + path).c_str(), kFindFlags));
}

base::UniqueFd open_mapping(pid_t thread, const process::Mapping& mapping) {
  const std::string name = fmt::format("map_files/{:x}-{:x}", mapping.range.begin, mapping.range.end);
  return base::UniqueFd(open(base::process_file(thread, name).c_str(), kOpenFlags));
}

bool is_file_of(int file, const MappedObject& object) {
  struct stat status{};
  if (fstat(file, &status) == 0 && status.st_ino == object.first.inode && status.st_dev == object.first.device) {
    return true;
  }
  // On some file systems the device in the memory map differs from fstat's.
  return !object.build_id.empty() && read_build_id(FileBytes(file)) == object.build_id;
}

}  // namespace

// What it is is looked at before it is opened, which has effects on some devices.
base::UniqueFd open_as_seen_by(pid_t thread, const std::string& path) {
  const base::UniqueFd place = thread == 0 ? base::UniqueFd(open(path.c_str(), kFindFlags))
                                           : find_below(base::process_file(thread, "root"), path);
  struct stat status{};
  if (!place) return {};
  if (fstat(place.get(), &status) == 0 && S_ISREG(status.st_mode))
    return base::UniqueFd(open(base::path_of(place).c_str(), kOpenFlags));
  errno = EINVAL;
  return {};
}

std::vector<uint8_t> read_build_id(const base::ByteSource& file) {
  const auto elf = ElfHeaders::read(file);
  if (!elf) return {};
  for (const ElfSegment& segment : elf->segments()) {
    if (segment.type != PT_NOTE) continue;
    auto id = find_note(file, elf->form(), segment.offset, segment.file_bytes, "GNU", NT_GNU_BUILD_ID);
    if (!id.empty()) return id;
  }
  // Notes of a separate debug file: its segments have the other file's offsets.
  for (const ElfSection& section : elf->read_sections(file)) {
    if (section.type != SHT_NOTE) continue;
    auto id = find_note(file, elf->form(), section.offset, section.bytes, "GNU", NT_GNU_BUILD_ID);
    if (!id.empty()) return id;
  }
  return {};
}

ObjectFile open_object_file(pid_t thread, const MappedObject& object) {
  if (base::UniqueFd file = open_mapping(thread, object.first)) return {std::move(file), 0};
  int error = errno;
  for (const pid_t viewer : {thread, pid_t{0}}) {
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

base::FilePlace place_of(pid_t thread, const process::Mapping& mapping) {
  return {.viewer = thread, .path = mapping.name, .device = mapping.device};
}

ObjectFile open_object_file_bounded(pid_t thread, const MappedObject& object) {
  const auto open = [thread, object]() -> ObjectFile {
    ObjectFile opened = open_object_file(thread, object);
    if (!opened.file) return opened;
    opened.file = base::own_copy(std::move(opened.file));
    opened.error = opened.file ? 0 : errno;
    return opened;
  };
  auto opened = base::ServedFiles::of_process().look<ObjectFile>(place_of(thread, object.first), open);
  return opened ? *std::move(opened) : ObjectFile{{}, ETIMEDOUT};
}

std::string path_below_root(pid_t thread, std::string path) {
  const std::string root = base::read_link(base::process_file(thread, "root"));
  if (root.size() > 1 && path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/') {
    path.erase(0, root.size());
  }
  return path;
}

std::string read_process_link(pid_t thread, const char* link) {
  return path_below_root(thread, base::read_link(base::process_file(thread, link)));
}

}  // namespace heaptap::elf
