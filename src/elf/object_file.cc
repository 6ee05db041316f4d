#include "elf/object_file.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

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
int open_below(const std::string& root, const std::string& path) {
  const OpenFile folder(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return -1;
  open_how how{};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_IN_ROOT;
  const long file = syscall(SYS_openat2, folder.descriptor(), path.c_str(), &how, sizeof(how));
  if (file >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(file);
  return open((root + path).c_str(), kOpenFlags);
}

OpenFile open_mapping(pid_t thread, const process::Mapping& mapping) {
  std::array<char, 64> name;
  snprintf(name.data(), name.size(), "map_files/%llx-%llx", static_cast<unsigned long long>(mapping.range.begin),
           static_cast<unsigned long long>(mapping.range.end));
  return OpenFile(open(proc_path(thread, name.data()).c_str(), kOpenFlags));
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

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

OpenFile OpenFile::copy() const { return OpenFile(descriptor_ >= 0 ? fcntl(descriptor_, F_DUPFD_CLOEXEC, 0) : -1); }

int OpenFile::release() { return std::exchange(descriptor_, -1); }

OpenFile open_as_seen_by(pid_t thread, const std::string& path) {
  OpenFile file(thread == 0 ? open(path.c_str(), kOpenFlags) : open_below(proc_path(thread, "root"), path));
  struct stat status{};
  if (!file.is_open()) return file;
  if (fstat(file.descriptor(), &status) == 0 && S_ISREG(status.st_mode)) return file;
  file = OpenFile();
  errno = EINVAL;
  return file;
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
  if (OpenFile file = open_mapping(thread, object.first); file.is_open()) return {std::move(file), {}};
  std::string why = std::strerror(errno);
  for (const pid_t viewer : {thread, pid_t{0}}) {
    OpenFile file = open_as_seen_by(viewer, object.first.name);
    if (!file.is_open()) {
      why = std::strerror(errno);
    } else if (is_file_of(file.descriptor(), object)) {
      return {std::move(file), {}};
    } else {
      why = "another file is in its place";
    }
  }
  return {OpenFile(), why};
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
