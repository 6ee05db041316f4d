#include "record/core_files/core_memory.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/scan/allocator_memory.h"
#include "common/arch/cpu.h"
#include "common/base/address_ranges.h"
#include "common/base/served_files.h"
#include "common/base/sizes.h"

namespace heaptap::core_files {
namespace {

using base::AddressRange;
using process::Mapping;

constexpr dev_t kAnyDevice = 1;

// Numbers that stand for the files' inodes, by path.
class FileNumbers {
 public:
  uint64_t of(const std::string& path) { return numbers_.try_emplace(path, numbers_.size() + 1).first->second; }

 private:
  std::unordered_map<std::string, uint64_t> numbers_;
};

class MapMaker {
 public:
  explicit MapMaker(const CoreFile& core) : core_(core), file_(core.files.begin()) {}

  std::vector<Mapping> make() {
    for (const CoreSegment& segment : core_.segments) {
      add_files_before(segment.memory.begin);
      add(segment);
    }
    add_files_before(UINT64_MAX);
    return std::move(map_);
  }

 private:
  // Mappings of files of which the core has nothing, not even what the program might do there.
  void add_files_before(uint64_t address) {
    CoreSegment unknown;
    unknown.readable = true;
    unknown.executable = true;
    for (; file_ != core_.files.end() && file_->memory.begin < address; ++file_) {
      const uint64_t begin = map_.empty() ? file_->memory.begin : std::max(file_->memory.begin, map_.back().range.end);
      const AddressRange range{begin, std::min(file_->memory.end, address)};
      if (range.begin < range.end) add_part(range, unknown, &*file_);
      if (file_->memory.end > address) return;
    }
  }

  void add(const CoreSegment& segment) {
    uint64_t at = segment.memory.begin;
    while (at < segment.memory.end) {
      while (file_ != core_.files.end() && file_->memory.end <= at) ++file_;
      const bool is_beyond = file_ == core_.files.end() || file_->memory.begin >= segment.memory.end;
      const bool has_file = !is_beyond && file_->memory.begin <= at;
      uint64_t end = segment.memory.end;
      if (!is_beyond) end = std::min(end, has_file ? file_->memory.end : file_->memory.begin);
      add_part({at, end}, segment, has_file ? &*file_ : nullptr);
      at = end;
    }
  }

  void add_part(AddressRange range, const CoreSegment& rights, const MappedFile* file) {
    Mapping mapping{.range = range,
                    .readable = rights.readable,
                    .writable = rights.writable,
                    .executable = rights.executable,
                    .name = {}};
    if (file != nullptr) {
      mapping.offset = file->offset + (range.begin - file->memory.begin);
      mapping.device = kAnyDevice;
      mapping.inode = numbers_.of(file->path);
      mapping.name = file->path;
    }
    map_.push_back(std::move(mapping));
  }

  const CoreFile& core_;
  std::vector<MappedFile>::const_iterator file_;
  FileNumbers numbers_;
  std::vector<Mapping> map_;
};

// Ascending.
std::vector<AddressRange> data_of(const std::vector<elf::ModuleImage>& modules) {
  std::vector<AddressRange> data;
  for (const elf::ModuleImage& module : modules)
    data.insert(data.end(), module.writable.begin(), module.writable.end());
  std::ranges::sort(data, {}, &AddressRange::begin);
  return data;
}

// A file of this machine that a core may name: of the kernel's own ones some change by being read.
bool may_be_read(std::string_view path) {
  if (!path.starts_with('/')) return false;
  return std::ranges::none_of(std::initializer_list<std::string_view>{"/dev/", "/proc/", "/sys/"},
                              [path](std::string_view kernels) { return path.starts_with(kernels); });
}

// Whose memory isn't searched in a process either.
bool is_device(std::string_view path) {
  return path.starts_with("/dev/") && !path.starts_with("/dev/shm/") && !path.starts_with("/dev/zero");
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path result = std::filesystem::absolute(path, error);
  return error ? path : result.lexically_normal().string();
}

// With this build-id. None: an errno value, or ObjectFile::kAnotherFile.
elf::ObjectFile open_with(const std::string& path, const std::vector<uint8_t>& build_id) {
  const auto open = [path, build_id]() -> elf::ObjectFile {
    base::UniqueFd file = elf::open_as_seen_by(0, path);
    if (!file) return {{}, errno};
    if (build_id.empty() || elf::read_build_id(elf::FileBytes(file.get())) != build_id) {
      return {{}, elf::ObjectFile::kAnotherFile};
    }
    file = base::own_copy(std::move(file));
    const int error = file ? 0 : errno;
    return {std::move(file), error};
  };
  const base::FilePlace place{.viewer = 0, .path = path};
  auto opened = base::ServedFiles::of_process().look<elf::ObjectFile>(place, open);
  return opened ? *std::move(opened) : elf::ObjectFile{{}, ETIMEDOUT};
}

}  // namespace

CoreMemory::CoreMemory(const base::ByteSource& bytes, const CoreFile& core, const std::string& program)
    : ProgramMemory(MapMaker(core).make(), core.form.word_bytes), bytes_(bytes), core_(core) {
  name_kernels_mappings();
  objects_ = elf::find_mapped_objects(*this, map_, *arch::cpu_of(core.architecture));
  take_files(program);
  const std::vector<elf::ModuleImage> modules = elf::find_modules(*this);
  find_missing(modules);
  name_heaps(modules);
  constexpr std::string_view kFunctions[] = {{"\0epoll_ctl\0", 11}, {"\0timer_create\0", 14}};
  const bool has_rings = std::ranges::find(core.files, "anon_inode:[io_uring]", &MappedFile::path) != core.files.end();
  may_use_kernel_words_ = has_rings || !notes_.empty() || scan::may_call(*this, modules, kFunctions);
}

// The kernel's names of them aren't in a core.
void CoreMemory::name_kernels_mappings() {
  constexpr uint64_t kKernelsHalf = uint64_t{1} << 63;
  Mapping* before = nullptr;
  for (Mapping& mapping : map_) {
    Mapping* const below = std::exchange(before, &mapping);
    if (mapping.has_file()) continue;
    if (mapping.range.begin >= kKernelsHalf) mapping.name = "[vsyscall]";
    if (core_.places.on_stack != 0 && mapping.range.contains(core_.places.on_stack)) mapping.name = "[stack]";
    if (core_.places.vdso == 0 || mapping.range.begin != core_.places.vdso) continue;
    mapping.name = "[vdso]";
    // Its data are below.
    for (Mapping* data = below; data != nullptr && data >= map_.data(); --data) {
      const bool is_next = data->range.end == (data + 1)->range.begin;
      if (!is_next || data->has_file() || data->writable || !data->readable) break;
      data->name = "[vvar]";
      if (data == map_.data()) break;
    }
  }
}

const elf::MappedObject* CoreMemory::program() const {
  const auto found = std::ranges::find_if(objects_, [this](const elf::MappedObject& object) {
    return core_.places.program_headers != 0 && object.range.contains(core_.places.program_headers);
  });
  return found == objects_.end() ? nullptr : &*found;
}

void CoreMemory::take_files(const std::string& program) {
  const elf::MappedObject* const main = this->program();
  for (elf::MappedObject& object : objects_) {
    if (object.is_vdso) continue;
    const bool is_given = &object == main && !program.empty();
    const std::string path = is_given ? absolute(program) : object.first.name;
    elf::ObjectFile opened{{}, elf::ObjectFile::kAnotherFile};
    if (is_given || may_be_read(path)) opened = open_with(path, object.build_id);
    if (opened.file) {
      files_.emplace(object.first.inode, std::move(opened.file));
      if (is_given) object.first.name = path;
    } else if (is_given) {
      has_other_program_ = true;
    } else {
      notes_.push_back({.kind = model::NoteKind::kCoreFileMissing,
                        .numbers = {static_cast<uint64_t>(opened.error)},
                        .module = path});
    }
  }
  if (main == nullptr && !program.empty()) has_other_program_ = true;
}

// The brk heap is where the main arena of glibc ends. (After a fork it is in several mappings.)
void CoreMemory::name_heaps(const std::vector<elf::ModuleImage>& modules) {
  const std::vector<AddressRange> data = data_of(modules);
  const auto may_be_heap = [&data](const Mapping& mapping) {
    return mapping.writable && !mapping.has_file() && mapping.name.empty() && !base::lies_in(mapping.range.begin, data);
  };
  for (const elf::ModuleImage& module : modules) {
    for (const AddressRange& arena : scan::find_main_arenas(*this, module)) {
      const uint64_t top = word(scan::bins_of_main_arena(*this, arena) - uint64_t{2} * word_bytes()).value_or(0);
      auto mapping = std::ranges::find_if(map_, [top](const Mapping& each) { return each.range.contains(top); });
      if (mapping == map_.end() || !may_be_heap(*mapping)) continue;
      mapping->name = "[heap]";
      for (; mapping != map_.begin(); --mapping) {
        const auto below = std::prev(mapping);
        if (below->range.end != mapping->range.begin || !may_be_heap(*below)) break;
        below->name = "[heap]";
      }
    }
  }
}

// Memory without contents was never touched, was left out (MADV_DONTDUMP, coredump_filter, shared with a file), or is cut off. Only of
// a module's own data it is certain that nothing leaves them out.
void CoreMemory::find_missing(const std::vector<elf::ModuleImage>& modules) {
  const std::vector<AddressRange> data = data_of(modules);
  for (const CoreSegment& segment : core_.segments) {
    const AddressRange absent{segment.memory.begin + segment.there_bytes, segment.memory.end};
    if (absent.size() == 0) continue;
    const Mapping* const mapping = process::find_mapping(map_, segment.memory.begin);
    const bool has_file = mapping != nullptr && mapping->has_file();
    const bool is_kernels = mapping != nullptr && mapping->name.starts_with('[') && !mapping->is_kernels("[stack]");
    const bool is_data = segment.written_bytes == 0 && base::lies_in(segment.memory.begin, data) &&
                         base::lies_in(segment.memory.end - 1, data);
    if (is_data && !has_file) zero_.push_back(absent);
    uint64_t bytes = segment.executable ? 0 : segment.written_bytes - segment.there_bytes;
    const bool is_anothers = is_data || is_kernels || (has_file && is_device(mapping->name));
    // What was filled and then protected may hold blocks as well.
    const bool is_protected = segment.readable && !segment.executable && !has_file && segment.written_bytes == 0;
    if ((segment.writable || is_protected) && !is_anothers) bytes = absent.size();
    missing_.bytes += bytes;
    if (bytes != 0) ++missing_.mappings;
  }
  count_unknown_files();
}

// Of a mapping that isn't even named among the segments, as a debugger leaves it out, it isn't known whether the program could write to
// it.
void CoreMemory::count_unknown_files() {
  std::vector<AddressRange> objects;
  for (const elf::MappedObject& object : objects_) objects.push_back(object.range);
  std::ranges::sort(objects, {}, &AddressRange::begin);
  missing_.of_files = static_cast<uint64_t>(std::ranges::count_if(map_, [&](const Mapping& mapping) {
    return mapping.has_file() && segment_at(mapping.range.begin) == nullptr && !is_device(mapping.name) &&
           !base::lies_in(mapping.range.begin, objects);
  }));
}

const CoreSegment* CoreMemory::segment_at(uint64_t address) const {
  const auto behind = std::ranges::upper_bound(core_.segments, address, {},
                                               [](const CoreSegment& segment) { return segment.memory.begin; });
  if (behind == core_.segments.begin() || !std::prev(behind)->memory.contains(address)) return nullptr;
  return &*std::prev(behind);
}

size_t CoreMemory::read_some(uint64_t address, void* into, size_t wanted) const {
  const std::span to(static_cast<uint8_t*>(into), wanted);
  size_t done = 0;
  while (done < to.size()) {
    const uint64_t at = address + done;
    if (at < address) break;
    const CoreSegment* const segment = segment_at(at);
    const uint64_t in_segment = segment != nullptr ? at - segment->memory.begin : 0;
    size_t bytes = 0;
    if (segment != nullptr && in_segment < segment->there_bytes) {
      const size_t part = base::at_most(to.size() - done, segment->there_bytes - in_segment);
      bytes = bytes_.read_some(segment->offset + in_segment, to.data() + done, part);
    } else {
      bytes = read_absent(segment, at, to.subspan(done));
    }
    if (bytes == 0) break;
    done += bytes;
  }
  return done;
}

size_t CoreMemory::read_absent(const CoreSegment* segment, uint64_t address, std::span<uint8_t> to) const {
  if (const AddressRange* const range = base::range_at(zero_, address)) {
    const size_t bytes = base::at_most(to.size(), range->end - address);
    std::fill_n(to.data(), bytes, uint8_t{0});
    return bytes;
  }
  if (segment != nullptr && segment->there_bytes != segment->written_bytes)
    return 0;  // the program's own copy is cut off
  const Mapping* const mapping = process::find_mapping(map_, address);
  if (mapping == nullptr || !mapping->has_file()) return 0;
  const auto file = files_.find(mapping->inode);
  if (file == files_.end()) return 0;
  const uint64_t end = segment != nullptr ? std::min(segment->memory.end, mapping->range.end) : mapping->range.end;
  return elf::FileBytes(file->second.get())
      .read_some(mapping->offset + (address - mapping->range.begin), to.data(),
                 base::at_most(to.size(), end - address));
}

std::vector<AddressRange> CoreMemory::touched_ranges(uint64_t begin, uint64_t end) {
  std::vector<AddressRange> parts;
  auto segment =
      std::ranges::upper_bound(core_.segments, begin, {}, [](const CoreSegment& each) { return each.memory.end; });
  for (; segment != core_.segments.end() && segment->memory.begin < end; ++segment) {
    const AddressRange part{std::max(begin, segment->memory.begin),
                            std::min(end, segment->memory.begin + segment->there_bytes)};
    if (part.begin < part.end) parts.push_back(part);
  }
  return parts;
}

uint64_t CoreMemory::skip_untouched(uint64_t begin, uint64_t end) const {
  auto segment = std::ranges::upper_bound(core_.segments, begin, {},
                                          [](const CoreSegment& each) { return each.memory.begin + each.there_bytes; });
  if (segment == core_.segments.end()) return end;
  return std::min(end, std::max(begin, segment->memory.begin));
}

}  // namespace heaptap::core_files
