// The relocations of a loaded object: which of its words the loader has filled, and for which symbol. Which kind a relocation
// is doesn't matter to who asks here, so no CPU's are known.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "elf/elf_file.h"
#include "elf/mapped_object.h"
#include "tracer/watched_names.h"

namespace heaptap::tracer {

struct Relocation {
  uint64_t slot = 0;    // the word's address
  uint64_t symbol = 0;  // its number; 0: none
  uint64_t addend = 0;
  bool has_addend = false;  // false: it stood in the slot
};
// `file`: the object's, for what only its sections name; or -1.
std::vector<Relocation> read_relocations(const elf::ByteSource& memory, elf::ElfForm form,
                                         const elf::MappedObject& object, int file);

// The numbers of those of its dynamic symbols that are called as functions to watch are, whoever defines them.
std::map<uint64_t, wire::Function> find_symbol_numbers(const elf::ByteSource& memory, elf::ElfForm form,
                                                       const elf::MappedObject& object, const WatchedNames& names);

}  // namespace heaptap::tracer
