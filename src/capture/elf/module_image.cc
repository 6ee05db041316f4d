#include "capture/elf/module_image.h"

#include <elf.h>

#include <optional>
#include <utility>

#include "capture/elf/mapped_image.h"
#include "common/base/pages.h"

namespace heaptap::elf {
namespace {

void note_memory(ModuleImage& module, const ElfSegment& segment, base::AddressRange place) {
  const base::AddressRange pages{base::page_begin(place.begin), base::whole_pages(place.end)};
  if ((segment.flags & PF_W) != 0) {
    module.writable.push_back(pages);
    module.page_rests.push_back({pages.begin, place.begin});
    module.page_rests.push_back({place.end, pages.end});
  } else if ((segment.flags & PF_R) != 0) {
    module.read_only.push_back(place);
  }
  if ((segment.flags & PF_X) != 0) module.code.push_back(place);
}

void note_place(ModuleImage& module, const ElfSegment& segment, base::AddressRange place) {
  if (segment.type == PT_GNU_RELRO) module.read_only.push_back(place);
  if (segment.type == PT_DYNAMIC) module.dynamic = place.begin;
  if (segment.type == PT_GNU_EH_FRAME) module.unwind_header = place.begin;
  if (segment.type == PT_TLS) {
    module.thread_locals = {place.begin, segment.file_bytes, segment.memory_bytes, segment.alignment};
  }
}

std::optional<ModuleImage> read_module(const process::ProgramMemory& memory, const process::Mapping& first) {
  const auto image = read_mapped_image(memory, first);
  if (!image || image->headers.form() != ElfForm::of_this_machine(memory.word_bytes())) return std::nullopt;
  ModuleImage module;
  module.path = first.name;
  module.bias = image->bias;
  for (const ElfSegment& segment : image->segments) {
    const base::AddressRange place = image->range_of(segment);
    if (segment.type != PT_LOAD) {
      note_place(module, segment, place);
      continue;
    }
    const process::Mapping* mapping = process::find_mapping(memory.map(), place.begin);
    if (mapping != nullptr && image->is_mapped_by(*mapping, segment)) note_memory(module, segment, place);
  }
  if (module.code.empty()) return std::nullopt;
  for (const ElfSegment& segment : image->segments) {
    const uint64_t begin = image->range_of(segment).begin;
    const base::AddressRange from_file{begin, begin + segment.file_bytes};
    if (segment.type == PT_LOAD && from_file.contains(module.unwind_header)) module.unwind_segment = from_file;
  }
  return module;
}

}  // namespace

std::vector<ModuleImage> find_modules(const process::ProgramMemory& memory) {
  std::vector<ModuleImage> modules;
  for (const process::Mapping& mapping : memory.map()) {
    if (!mapping.readable || !may_begin_image(mapping)) continue;
    if (auto module = read_module(memory, mapping)) modules.push_back(std::move(*module));
  }
  return modules;
}

}  // namespace heaptap::elf
