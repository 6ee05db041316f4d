#include "capture/launch/functions_to_tell.h"

#include <elf.h>

#include <algorithm>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/elf/symbol_search.h"
#include "capture/tracer/watched_names.h"

namespace heaptap::launch {

std::optional<FunctionsToTell> find_functions_to_tell(int file) {
  const elf::FileBytes bytes(file);
  const auto program = elf::ElfHeaders::read(bytes);
  if (!program || std::ranges::count(program->segments(), uint32_t{PT_INTERP}, &elf::ElfSegment::type) != 0) return {};
  const auto sections = program->read_sections(bytes);
  if (elf::table_in_file(program->form(), sections, SHT_SYMTAB).count != 0) return {};
  const std::vector<uint8_t> build_id = elf::read_build_id(bytes);
  if (build_id.empty()) return {};
  FunctionsToTell functions{.build_id = {build_id.begin(), build_id.end()}, .names = {}};
  const tracer::WatchedNames names(program->form().word_bytes);
  for (size_t i = 0; i < names.symbols().size(); ++i) {
    if (names[i].may_be_told()) functions.names.emplace_back(names.symbols()[i]);
  }
  return functions;
}

}  // namespace heaptap::launch
