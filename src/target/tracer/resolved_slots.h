// Functions of IFUNCs that a loader has resolved already: its resolver has run before the tracer came, and what it chose stands
// in the slots that the objects' relocations name. Which kind of relocation it is doesn't matter, so no CPU's are known here.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "target/tracer/elf_file.h"
#include "target/tracer/loaded_objects.h"
#include "target/tracer/mapped_object.h"
#include "target/tracer/watched_names.h"

namespace heaptap::tracer {

class ResolvedSlots {
 public:
  // `resolvers` are the known ones, of all objects. `thread`: a live one of the process.
  ResolvedSlots(const ByteSource& memory, ElfForm form, pid_t thread, std::span<const FoundFunction> resolvers,
                const WatchedNames& names);

  // What this object's slots say: addresses in memory with the functions that they stand for, whoever holds them.
  [[nodiscard]] std::vector<FoundFunction> of(const MappedObject& object) const;

 private:
  struct Relocation {
    uint64_t slot;    // its address
    uint64_t symbol;  // number of the symbol; 0: none
    uint64_t addend;
  };
  struct Table {
    uint64_t address;
    uint64_t bytes;
    bool has_addends;
  };
  [[nodiscard]] std::vector<Table> tables_of(const MappedObject& object, int file) const;
  [[nodiscard]] std::vector<Relocation> read(const MappedObject& object, const Table& table) const;
  [[nodiscard]] std::map<uint64_t, wire::Function> symbols_of(const MappedObject& object) const;
  [[nodiscard]] uint64_t word(const ByteSource& source, uint64_t at) const;

  const ByteSource& memory_;
  ElfForm form_;
  pid_t thread_;
  std::span<const FoundFunction> resolvers_;
  const WatchedNames& names_;
};

}  // namespace heaptap::tracer
