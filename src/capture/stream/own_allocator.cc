#include "capture/stream/own_allocator.h"

#include <elf.h>

#include <array>
#include <string_view>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/elf/symbol_search.h"
#include "common/base/served_files.h"

namespace heaptap::stream {

namespace {

OwnAllocator find_allocator(pid_t process, const std::string& executable) {
  base::UniqueFd file = elf::open_as_seen_by(process, executable);
  if (!file) file = elf::open_as_seen_by(0, executable);  // it has ended
  if (!file) return OwnAllocator::kNone;
  const elf::FileBytes bytes(file.get());
  const auto elf = elf::ElfHeaders::read(bytes);
  if (!elf) return OwnAllocator::kNone;
  const std::vector<elf::ElfSection> sections = elf->read_sections(bytes);
  if (elf::find_section(sections, ".go.buildinfo") != nullptr) return OwnAllocator::kGo;
  constexpr std::array<std::string_view, 1> kNames{"malloc"};
  bool is_defined = false;
  for (const uint32_t kind : {SHT_DYNSYM, SHT_SYMTAB}) {
    elf::search_symbols(bytes, elf->form(), elf::table_in_file(elf->form(), sections, kind), kNames,
                        [&](size_t, const elf::ElfSymbol& symbol, uint64_t) {
                          is_defined |= symbol.section != SHN_UNDEF && symbol.type == STT_FUNC;
                        });
  }
  return is_defined ? OwnAllocator::kMalloc : OwnAllocator::kNone;
}

}  // namespace

OwnAllocator own_allocator_of(pid_t process, const std::string& executable) {
  const auto look = [process, executable] { return find_allocator(process, executable); };
  const base::FilePlace place{.viewer = process, .path = executable};
  return base::ServedFiles::of_process().look<OwnAllocator>(place, look).value_or(OwnAllocator::kNone);
}

}  // namespace heaptap::stream
