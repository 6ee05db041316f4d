#include "analysis/symbol_server/file_index.h"

#include <dirent.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "capture/elf/object_file.h"
#include "common/base/intervals.h"

namespace heaptap::symbol_server {
namespace {

constexpr size_t kMaxEntries = 2'000'000;
constexpr size_t kMaxFiles = 200'000;  // ELF files with a build-id
constexpr size_t kMaxOfOneId = 8;
constexpr size_t kMaxDirectories = 200'000;
constexpr unsigned kMaxDepth = 64;
constexpr int kPauseByTime = 10;  // in multiples of the time of a look

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

bool is_elf(int file) {
  std::array<char, SELFMAG> magic{};
  return pread(file, magic.data(), magic.size(), 0) == static_cast<ssize_t>(magic.size()) &&
         std::memcmp(magic.data(), ELFMAG, SELFMAG) == 0;
}

}  // namespace

FileIndex::FileIndex(Directories directories, std::function<Clock::time_point()> now)
    : directories_(std::move(directories)), now_(std::move(now)) {
  look_through();
}

void FileIndex::look_through() {
  const Clock::time_point began = now_();
  files_.clear();
  seen_.clear();
  file_count_ = entry_count_ = 0;
  is_cut_off_ = false;
  ++looks_;
  for (size_t directory = 0; directory < directories_.count(); ++directory) look_into({directory, ""}, 0);
  const Clock::time_point now = now_();
  next_look_ = now + std::max<Clock::duration>(base::intervals().look, (now - began) * kPauseByTime);
}

void FileIndex::look_into(const FilePlace& place, unsigned depth) {
  base::UniqueFd descriptor = directories_.open_directory(place);
  struct stat status{};
  if (!descriptor || fstat(descriptor.get(), &status) != 0) return;
  if (depth == kMaxDepth || seen_.size() == kMaxDirectories) {
    is_cut_off_ = true;
    return;
  }
  seen_.push_back({place, status.st_mtim.tv_sec, status.st_mtim.tv_nsec});
  const OpenDirectory directory(fdopendir(descriptor.get()));
  if (directory == nullptr) return;
  descriptor.release();  // closed with it
  std::vector<std::string> below;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (++entry_count_ > kMaxEntries || file_count_ == kMaxFiles) {
      is_cut_off_ = true;
      return;
    }
    FilePlace inside{place.directory, place.path.empty() ? name : place.path + "/" + name};
    if (entry->d_type == DT_DIR) below.push_back(std::move(inside.path));
    if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) {
      const base::UniqueFd file = directories_.open_file(inside);
      if (file)
        take_file(std::move(inside), file.get());
      else if (entry->d_type == DT_UNKNOWN)
        below.push_back(std::move(inside.path));
    }
  }
  for (const std::string& path : below) look_into({place.directory, path}, depth + 1);
}

void FileIndex::take_file(FilePlace place, int file) {
  if (!is_elf(file)) return;
  const std::vector<uint8_t> id = elf::read_build_id(elf::FileBytes(file));
  if (id.empty()) return;
  ++file_count_;
  std::vector<FilePlace>& places = files_[std::string(id.begin(), id.end())];
  if (places.size() < kMaxOfOneId) places.push_back(std::move(place));
}

bool FileIndex::has_changed() const {
  return std::ranges::any_of(seen_, [this](const SeenDirectory& seen) {
    const base::UniqueFd directory = directories_.open_directory(seen.place);
    struct stat status{};
    return !directory || fstat(directory.get(), &status) != 0 || status.st_mtim.tv_sec != seen.changed_s ||
           status.st_mtim.tv_nsec != seen.changed_ns;
  });
}

bool FileIndex::may_have_changed() {
  const Clock::time_point began = now_();
  if (began < next_look_) return false;
  const bool changed = has_changed();
  const Clock::time_point now = now_();
  next_look_ = now + std::max<Clock::duration>(base::intervals().look, (now - began) * kPauseByTime);
  return changed;
}

std::vector<base::UniqueFd> FileIndex::files_of(const std::string& build_id) {
  if (build_id.empty()) return {};
  if (!files_.contains(build_id) && may_have_changed()) look_through();
  std::vector<base::UniqueFd> files;
  const auto known = files_.find(build_id);
  if (known == files_.end()) return files;
  for (const FilePlace& place : known->second) {
    if (base::UniqueFd file = directories_.open_file(place)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace heaptap::symbol_server
