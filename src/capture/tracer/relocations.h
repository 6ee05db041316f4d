// Relocations of a loaded object: the words filled by the loader, and their symbols. The relocation type isn't needed
// here, so nothing depends on the CPU.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/elf/mapped_object.h"
#include "capture/tracer/watched_names.h"
#include "common/base/byte_source.h"

namespace heaptap::tracer {

struct Relocation {
  uint64_t slot = 0;    // the word's address
  uint64_t symbol = 0;  // its number; 0: none
  uint64_t addend = 0;
  bool has_addend = false;  // false: the addend is in the slot
};
// `file`: the object's, for data found through sections only; or -1.
std::vector<Relocation> read_relocations(const base::ByteSource& memory, elf::ElfForm form,
                                         const elf::MappedObject& object, int file);

// Numbers of its dynamic symbols with the names of watched functions, wherever these are defined. `relocations`: its own,
// since a hash table of symbols may count only those that the object defines.
std::map<uint64_t, wire::Function> find_symbol_numbers(const base::ByteSource& memory, elf::ElfForm form,
                                                       const elf::MappedObject& object, const WatchedNames& names,
                                                       std::span<const Relocation> relocations);

}  // namespace heaptap::tracer
