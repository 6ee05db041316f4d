#include "record/recordings/own_rows.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "capture/elf/debug_file.h"
#include "capture/elf/object_file.h"
#include "capture/elf/row_maker.h"
#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "capture/stream/module_file.h"

namespace heaptap::recordings {
namespace {

struct RowFile {
  base::UniqueFd file;
  std::optional<elf::ElfHeaders> elf = {};
  std::vector<elf::ElfSection> sections = {};

  explicit RowFile(base::UniqueFd opened) : file(std::move(opened)) {
    if (!file) return;
    const elf::FileBytes bytes(file.get());
    elf = elf::ElfHeaders::read(bytes);
    if (elf) sections = elf->read_sections(bytes);
  }

  // Empty: missing or compressed.
  [[nodiscard]] std::vector<uint8_t> read_frames() const {
    constexpr uint64_t kMaxFrameBytes = uint64_t{64} << 20;
    const elf::ElfSection* const section = elf::find_section(sections, ".debug_frame");
    if (section == nullptr || section->type == SHT_NOBITS || (section->flags & SHF_COMPRESSED) != 0) return {};
    if (section->bytes > kMaxFrameBytes) return {};
    std::vector<uint8_t> frames(section->bytes);
    frames.resize(elf::FileBytes(file.get()).read_some(section->offset, frames.data(), frames.size()));
    return frames;
  }
};

wire::Architecture architecture_of(uint16_t machine) {
  const auto* const found = std::ranges::find(wire::kArchitectures, machine, wire::elf_machine_of);
  return found != std::end(wire::kArchitectures) ? *found : wire::Architecture::kUnknown;
}

model::RowTable make_rows(const RowFile& file) {
  const std::vector<uint8_t> frames = file.read_frames();
  if (frames.empty()) return {};
  return elf::make_rows({.architecture = architecture_of(file.elf->machine()), .debug_frame = frames}, std::nullopt);
}

// From the object's file, or from its debug file.
model::RowTable make_rows(pid_t thread, const RowFile& file, const std::string& path, const std::string& build_id) {
  if (!file.elf) return {};
  model::RowTable rows = make_rows(file);
  if (!rows.empty()) return rows;
  const elf::DebugLink link = elf::read_debug_link(elf::FileBytes(file.file.get()), file.elf->form(), file.sections);
  return make_rows(RowFile(elf::open_debug_file_bounded(thread, path, {build_id.begin(), build_id.end()}, link)));
}

}  // namespace

OwnRows::OwnRows(const log::LogParts& log, pid_t process) : process_(process), writer_(log) {
  const pid_t thread = writer_.room_bytes() != 0 ? process::find_live_thread(process) : 0;
  if (thread == 0) return;
  constexpr size_t kMaxObjects = 1024;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const process::Mapping& mapping : process::read_memory_map(thread)) {
    if (!mapping.has_file() || mapping.offset != 0 || seen.size() >= kMaxObjects) continue;
    if (!seen.emplace(mapping.device, mapping.inode).second) continue;
    elf::MappedObject object;
    object.first = mapping;
    const RowFile file(elf::open_object_file_bounded(thread, object).file);
    if (!file.elf || (file.elf->type() != ET_DYN && file.elf->type() != ET_EXEC)) continue;
    const bool has_tables = std::ranges::any_of(
        file.elf->segments(), [](const elf::ElfSegment& segment) { return segment.type == PT_GNU_EH_FRAME; });
    const std::vector<uint8_t> id = elf::read_build_id(elf::FileBytes(file.file.get()));
    const std::string build_id(id.begin(), id.end());
    (void)writer_.add(build_id, has_tables ? make_rows(file) : make_rows(thread, file, mapping.name, build_id));
  }
}

void OwnRows::serve(std::span<const model::Module> modules) {
  if (writer_.room_bytes() == 0) return;
  for (; seen_modules_ < modules.size(); ++seen_modules_) {
    const model::Module& module = modules[seen_modules_];
    if (!writer_.has(module.build_id)) {
      (void)writer_.add(module.build_id, make_rows(RowFile(stream::open_module_file(process_, module))));
    }
  }
  std::vector<uint64_t> misses = std::exchange(misses_, {});
  for (const uint64_t entry : writer_.take_misses()) misses.push_back(entry);
  for (const uint64_t entry : misses) {
    const uint64_t address = wire::code_address(entry);
    const auto holds = [&](const model::Module& module) {
      return module.start < address && address <= module.end && module.generation == wire::code_generation(entry);
    };
    const auto module = std::ranges::find_if(modules, holds);
    if (module == modules.end()) {
      misses_.push_back(entry);
      continue;
    }
    const RowFile file(stream::open_module_file(process_, *module));
    (void)writer_.add(module->build_id,
                      make_rows(process::find_live_thread(process_), file, module->path, module->build_id));
  }
}

}  // namespace heaptap::recordings
