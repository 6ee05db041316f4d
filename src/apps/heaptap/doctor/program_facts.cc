#include "apps/heaptap/doctor/program_facts.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "capture/elf/debug_file.h"
#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/elf/symbol_search.h"
#include "common/base/unique_fd.h"

namespace heaptap::app {
namespace {

using Sections = std::vector<elf::ElfSection>;

bool has_section(const Sections& sections, std::string_view name) {
  const elf::ElfSection* const section = elf::find_section(sections, name);
  return section != nullptr && section->type != SHT_NOBITS;
}

bool has_lines(const elf::FileBytes& bytes, const elf::ElfHeaders& elf, const Sections& sections,
               const std::string& file) {
  if (has_section(sections, ".debug_info") || has_section(sections, ".zdebug_info")) return true;
  const elf::DebugLink link = elf::read_debug_link(bytes, elf.form(), sections);
  return static_cast<bool>(elf::open_debug_file(0, file, elf::read_build_id(bytes), link));
}

bool defines_allocator(const elf::FileBytes& bytes, const elf::ElfHeaders& elf, const Sections& sections) {
  constexpr std::array<std::string_view, 1> kAllocators{"malloc"};
  bool is_defined = false;
  for (const uint32_t kind : {SHT_DYNSYM, SHT_SYMTAB}) {
    elf::search_symbols(bytes, elf.form(), elf::table_in_file(elf.form(), sections, kind), kAllocators,
                        [&](size_t, const elf::ElfSymbol& symbol, uint64_t) {
                          is_defined |= symbol.section != SHN_UNDEF && symbol.type == STT_FUNC;
                        });
  }
  return is_defined;
}

}  // namespace

std::optional<ProgramFacts> read_program_facts(const std::string& file) {
  const base::UniqueFd descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) return std::nullopt;
  const elf::FileBytes bytes(descriptor.get());
  const auto elf = elf::ElfHeaders::read(bytes);
  if (!elf) return std::nullopt;
  const Sections sections = elf->read_sections(bytes);
  ProgramFacts facts;
  facts.word_bytes = elf->form().word_bytes;
  const auto loader = std::ranges::find(elf->segments(), uint32_t{PT_INTERP}, &elf::ElfSegment::type);
  constexpr size_t kMaxPath = 4096;
  if (loader != elf->segments().end()) facts.loader = elf::read_text(bytes, loader->offset, kMaxPath);
  facts.has_lines = has_lines(bytes, *elf, sections, file);
  facts.has_symbols = has_section(sections, ".symtab");
  facts.is_go = has_section(sections, ".go.buildinfo") || has_section(sections, ".note.go.buildid");
  facts.defines_allocator = defines_allocator(bytes, *elf, sections);
  return facts;
}

}  // namespace heaptap::app
