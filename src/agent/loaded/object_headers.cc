#include "agent/loaded/object_headers.h"

#include <elf.h>

#include "agent/core/exit_signals.h"
#include "agent/core/pages.h"
#include "agent/core/string.h"
#include "common/arch/native.h"

namespace heaptap::agent {
namespace {

// One note: the build-id, or that of Go, whose runtime asks the kernel for dispositions by itself.
void read_note(const ElfW(Nhdr) & note, uintptr_t name, uintptr_t value, ModuleFacts& facts) {
  constexpr uint32_t kBuildId = 3;    // NT_GNU_BUILD_ID
  constexpr uint32_t kGoBuildId = 4;  // of the owner "Go"
  if (note.n_namesz != 4) return;
  const auto* owner = reinterpret_cast<const char*>(name);
  if (note.n_type == kBuildId && equal(owner, "GNU") && facts.build_id == nullptr) {
    facts.build_id = reinterpret_cast<const uint8_t*>(value);
    facts.build_id_bytes = note.n_descsz;
  }
  if (note.n_type == kGoBuildId && equal(owner, "Go")) {
    facts.is_go = true;
    leave_signals_alone();
  }
}

void read_notes(uintptr_t notes, size_t bytes, ModuleFacts& facts) {
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= bytes) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes + at);
    const size_t name_at = at + sizeof(*note);
    const size_t value_at = name_at + ((note->n_namesz + 3u) & ~size_t{3});
    if (value_at + note->n_descsz > bytes || value_at < name_at) return;
    read_note(*note, notes + name_at, notes + value_at, facts);
    at = value_at + ((note->n_descsz + 3u) & ~size_t{3});
  }
}

// The segment of the tables that stacks are walked by.
constexpr ElfW(Word) kTablesSegment = arch::native::Unwinding::kHasExceptionIndex ? PT_ARM_EXIDX : PT_GNU_EH_FRAME;

void read_segment(const ElfW(Phdr) & segment, uintptr_t bias, ModuleFacts& facts) {
  const uintptr_t start = bias + segment.p_vaddr;
  switch (segment.p_type) {
    case PT_LOAD: {
      const uintptr_t end = start + segment.p_memsz;
      if (facts.end == 0 || start < facts.start) facts.start = page_begin(start);
      if (end > facts.end) facts.end = end;
      if (segment.p_offset == 0 && segment.p_filesz >= sizeof(ElfW(Ehdr)) && (segment.p_flags & PF_R) != 0) {
        const auto entry = reinterpret_cast<const ElfW(Ehdr)*>(start)->e_entry;
        if (entry != 0) facts.entry = bias + entry;
      }
      break;
    }
    case kTablesSegment:
      if (segment.p_memsz == 0) break;  // objcopy leaves an empty one in place of a removed one
      facts.unwind_header = start;
      facts.unwind_header_bytes = segment.p_memsz;
      break;
    case PT_NOTE:
      read_notes(start, segment.p_memsz, facts);
      break;
    default:
      break;
  }
}

// The readable segment with the unwind tables.
void find_tables(const dl_phdr_info& object, ModuleFacts& facts) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    const uintptr_t start = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 && facts.unwind_header - start < segment.p_memsz) {
      facts.tables_start = start;
      facts.tables_end = start + segment.p_memsz;
    }
  }
}

}  // namespace

void read_headers(const dl_phdr_info& object, ModuleFacts& facts) {
  for (int i = 0; i < object.dlpi_phnum; ++i) read_segment(object.dlpi_phdr[i], object.dlpi_addr, facts);
  find_tables(object, facts);
}

bool find_object_at(FindObject* find, uintptr_t address, dl_phdr_info& object) {
  dl_find_object found;
  if (find == nullptr || find(reinterpret_cast<void*>(address), &found) != 0) return false;
  const auto start = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  const size_t bytes = reinterpret_cast<uintptr_t>(found.dlfo_map_end) - start;
  const auto* const header = static_cast<const ElfW(Ehdr)*>(found.dlfo_map_start);
  if (bytes < page_bytes() || found.dlfo_link_map == nullptr) return false;
  const unsigned char* const magic = header->e_ident;
  const bool is_elf = magic[0] == ELFMAG0 && magic[1] == ELFMAG1 && magic[2] == ELFMAG2 && magic[3] == ELFMAG3;
  if (!is_elf || header->e_phentsize != sizeof(ElfW(Phdr))) return false;
  const size_t headers_bytes = size_t{header->e_phnum} * sizeof(ElfW(Phdr));
  if (header->e_phoff > page_bytes() || headers_bytes > page_bytes() - header->e_phoff) return false;
  object.dlpi_addr = found.dlfo_link_map->l_addr;
  object.dlpi_name = found.dlfo_link_map->l_name;
  object.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(start + header->e_phoff);
  object.dlpi_phnum = header->e_phnum;
  return true;
}

}  // namespace heaptap::agent
