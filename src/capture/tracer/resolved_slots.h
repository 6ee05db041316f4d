// Slots of already resolved IFUNCs: the resolver ran before the tracer attached, and its results are in the slots of
// the objects' relocations.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/elf/mapped_object.h"
#include "capture/tracer/loaded_objects.h"
#include "capture/tracer/watched_names.h"
#include "common/base/byte_source.h"

namespace heaptap::tracer {

class ResolvedSlots {
 public:
  // `resolvers` are the known ones, of all objects. `thread`: a live one of the process.
  ResolvedSlots(const base::ByteSource& memory, elf::ElfForm form, pid_t thread,
                std::span<const FoundFunction> resolvers, const WatchedNames& names);

  // Functions in this object's slots, with their addresses in memory in whatever object.
  [[nodiscard]] std::vector<FoundFunction> of(const elf::MappedObject& object) const;

 private:
  [[nodiscard]] uint64_t word(const base::ByteSource& source, uint64_t at) const;
  [[nodiscard]] bool is_resolved_by_name(wire::Function function) const;

  const base::ByteSource& memory_;
  elf::ElfForm form_;
  pid_t thread_;
  std::span<const FoundFunction> resolvers_;
  const WatchedNames& names_;
};

}  // namespace heaptap::tracer
