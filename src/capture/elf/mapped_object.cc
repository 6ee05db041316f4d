#include "capture/elf/mapped_object.h"

#include <elf.h>

#include <algorithm>
#include <optional>

#include "common/base/pages.h"

namespace heaptap::elf {
namespace {

using base::AddressRange;
using process::Mapping;

constexpr uint32_t kGoBuildId = 4;                        // of Go's notes
constexpr uint64_t kMaxSegmentBytes = uint64_t{1} << 46;  // of one segment; more is nonsense
constexpr size_t kMaxPathBytes = 4096;

// A file that the program only reads has such headers, too, but its code isn't where they say. (What was moved to anonymous
// memory, into huge pages, has no file any more.)
bool is_code_there(const std::vector<Mapping>& map, const Mapping& first, uint64_t address, const ElfSegment& segment) {
  const Mapping* mapping = find_mapping(map, address);
  if (mapping == nullptr || !mapping->executable) return false;
  if (!mapping->has_file() || !first.has_file()) return true;
  const uint64_t offset = mapping->offset + (base::page_begin(address) - mapping->range.begin);
  return mapping->inode == first.inode && mapping->device == first.device && offset == base::page_begin(segment.offset);
}

void note_loaded(MappedObject& object, const ElfSegment& segment, AddressRange place) {
  const uint64_t start = base::page_begin(place.begin);
  if (object.loaded.empty() || start < object.range.begin) object.range.begin = start;
  object.range.end = std::max(object.range.end, place.end);
  object.loaded.push_back(segment);
  if ((segment.flags & PF_X) != 0) object.code.push_back(place);
}

void note_segment(MappedObject& object, const base::ByteSource& memory, ElfForm form, const ElfSegment& segment) {
  const AddressRange place{object.bias + segment.address, object.bias + segment.address + segment.memory_bytes};
  switch (segment.type) {
    case PT_LOAD:
      note_loaded(object, segment, place);
      break;
    case PT_DYNAMIC:
      object.dynamic = place.begin;
      object.dynamic_bytes = place.size();
      break;
    case PT_INTERP:
      object.interpreter = read_text(memory, place.begin, kMaxPathBytes);
      break;
    case PT_GNU_EH_FRAME:
      object.unwind_header = place.begin;
      break;
    case PT_NOTE:
      if (object.build_id.empty()) {
        object.build_id = find_note(memory, form, place.begin, place.size(), "GNU", NT_GNU_BUILD_ID);
      }
      object.is_go = object.is_go || !find_note(memory, form, place.begin, place.size(), "Go", kGoBuildId).empty();
      break;
    default:
      break;
  }
}

std::optional<MappedObject> read_object(const base::ByteSource& memory, const std::vector<Mapping>& map,
                                        const Mapping& first, const arch::Cpu& cpu) {
  const auto file = ElfFile::read(memory, first.range.begin);
  if (!file || file->form() != ElfForm{cpu.word_bytes(), cpu.is_big_endian()} || file->machine() != cpu.elf_machine()) {
    return std::nullopt;
  }
  const uint64_t highest = cpu.word_bytes() == 8 ? ~uint64_t{0} : uint64_t{UINT32_MAX};
  const auto at_start = std::ranges::find_if(file->segments(), [](const ElfSegment& segment) {
    return segment.type == PT_LOAD && base::page_begin(segment.offset) == 0;
  });
  if (at_start == file->segments().end()) return std::nullopt;
  MappedObject object;
  object.first = first;
  object.is_vdso = first.is_kernels("[vdso]");
  object.bias = first.range.begin - base::page_begin(at_start->address);  // may be "negative"
  for (const ElfSegment& segment : file->segments()) {
    const uint64_t begin = object.bias + segment.address;
    if (segment.memory_bytes == 0 || segment.memory_bytes > kMaxSegmentBytes) continue;
    if (begin > highest || segment.memory_bytes > highest - begin) continue;
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 && !is_code_there(map, first, begin, segment)) {
      return std::nullopt;
    }
    note_segment(object, memory, file->form(), segment);
  }
  if (object.code.empty()) return std::nullopt;
  if (file->entry() != 0 && !object.is_vdso) object.entry = object.bias + file->entry();
  return object;
}

}  // namespace

std::vector<MappedObject> find_mapped_objects(const base::ByteSource& memory, const std::vector<Mapping>& map,
                                              const arch::Cpu& cpu) {
  std::vector<MappedObject> objects;
  for (const Mapping& mapping : map) {
    if (mapping.offset != 0 || (!mapping.has_file() && !mapping.is_kernels("[vdso]"))) continue;
    if (mapping.shared || mapping.name.starts_with("/dev/")) continue;
    if (auto object = read_object(memory, map, mapping, cpu)) objects.push_back(std::move(*object));
  }
  return objects;
}

}  // namespace heaptap::elf
