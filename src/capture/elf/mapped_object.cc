#include "capture/elf/mapped_object.h"

#include <elf.h>

#include <algorithm>
#include <optional>

#include "capture/elf/mapped_image.h"
#include "common/base/pages.h"

namespace heaptap::elf {
namespace {

using base::AddressRange;
using process::Mapping;

constexpr uint32_t kGoBuildId = 4;  // note type of Go
constexpr size_t kMaxPathBytes = 4096;

// Accepts code in memory without a file: a program may have moved it there, for huge pages.
bool is_code_there(const MappedImage& image, const std::vector<Mapping>& map, const ElfSegment& segment) {
  const Mapping* mapping = find_mapping(map, image.range_of(segment).begin);
  if (mapping == nullptr || !mapping->executable) return false;
  return !mapping->has_file() || !image.first.has_file() || image.is_mapped_by(*mapping, segment);
}

void note_loaded(MappedObject& object, const ElfSegment& segment, AddressRange place) {
  const uint64_t start = base::page_begin(place.begin);
  if (object.loaded.empty() || start < object.range.begin) object.range.begin = start;
  object.range.end = std::max(object.range.end, place.end);
  object.loaded.push_back(segment);
  if ((segment.flags & PF_X) != 0) object.code.push_back(place);
}

void note_segment(MappedObject& object, const base::ByteSource& memory, const MappedImage& image,
                  const ElfSegment& segment) {
  const ElfForm form = image.headers.form();
  const AddressRange place = image.range_of(segment);
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
  const auto image = read_mapped_image(memory, first);
  if (!image) return std::nullopt;
  const ElfHeaders& headers = image->headers;
  if (headers.form() != ElfForm{cpu.word_bytes(), cpu.is_big_endian()} || headers.machine() != cpu.elf_machine()) {
    return std::nullopt;
  }
  MappedObject object;
  object.first = first;
  object.is_vdso = first.is_kernels("[vdso]");
  object.bias = image->bias;
  for (const ElfSegment& segment : image->segments) {
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 && !is_code_there(*image, map, segment)) {
      return std::nullopt;
    }
    note_segment(object, memory, *image, segment);
  }
  if (object.code.empty()) return std::nullopt;
  if (headers.entry() != 0 && !object.is_vdso) object.entry = object.bias + headers.entry();
  return object;
}

}  // namespace

std::vector<MappedObject> find_mapped_objects(const base::ByteSource& memory, const std::vector<Mapping>& map,
                                              const arch::Cpu& cpu) {
  std::vector<MappedObject> objects;
  for (const Mapping& mapping : map) {
    if (!may_begin_image(mapping)) continue;
    if (auto object = read_object(memory, map, mapping, cpu)) objects.push_back(std::move(*object));
  }
  return objects;
}

}  // namespace heaptap::elf
