#include "capture/scan/module_files.h"

#include <algorithm>

#include "capture/elf/elf_headers.h"
#include "capture/elf/mapped_object.h"
#include "capture/elf/object_file.h"
#include "common/arch/cpu.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"

namespace heaptap::scan {

ModuleFiles::ModuleFiles(pid_t thread, const process::ProcessMemory& memory, wire::Architecture architecture) {
  const arch::Cpu* const cpu = arch::cpu_of(architecture);
  if (cpu == nullptr) return;
  for (const elf::MappedObject& object : elf::find_mapped_objects(memory, memory.map(), *cpu)) {
    if (!object.first.has_file() || find(object.first) != nullptr) continue;
    elf::ObjectFile opened = elf::open_object_file_bounded(thread, object);
    if (opened.file) files_.push_back({object.first.device, object.first.inode, std::move(opened.file)});
  }
}

const ModuleFiles::File* ModuleFiles::find(const process::Mapping& mapping) const {
  const auto found = std::ranges::find_if(
      files_, [&](const File& file) { return file.inode == mapping.inode && file.device == mapping.device; });
  return found == files_.end() ? nullptr : &*found;
}

bool ModuleFiles::has_all(const std::vector<process::Mapping>& map) const {
  return std::ranges::all_of(map, [this](const process::Mapping& mapping) {
    const bool is_code = mapping.executable && mapping.has_file() && !mapping.shared;
    return !is_code || find(mapping) != nullptr;
  });
}

size_t ModuleFiles::read(const process::Mapping& mapping, uint64_t address, std::span<uint8_t> to) const {
  const File* const file = find(mapping);
  if (file == nullptr) return 0;
  const size_t wanted = base::at_most(to.size(), mapping.range.end - address);
  const uint64_t offset = address - mapping.range.begin + mapping.offset;
  const size_t got = elf::FileBytes(file->file.get()).read_some(offset, to.data(), wanted);
  // The rest of the file's last page is zero in memory.
  const size_t filled = base::at_most(wanted, base::whole_pages(offset + got) - offset);
  if (got > 0 && filled > got) std::ranges::fill(to.subspan(got, filled - got), uint8_t{0});
  return std::max(got, got > 0 ? filled : 0);
}

}  // namespace heaptap::scan
