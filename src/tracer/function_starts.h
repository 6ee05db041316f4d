// Where functions begin in an object, by its own unwind table: what others say of it needs this proof.
#pragma once
#include <cstdint>
#include <memory>

#include "base/address_range.h"
#include "elf/elf_file.h"
#include "elf/frame_tables.h"
#include "tracer/loaded_objects.h"
#include "wire/architecture.h"

namespace heaptap::tracer {

class FunctionStarts {
 public:
  // `memory` outlives it.
  FunctionStarts(const elf::ByteSource& memory, wire::Architecture architecture, const LoadedObject& object);

  // The code of the function that begins there. Empty: none does, as far as the table tells; the cold part of one, to which it jumps,
  // is none.
  [[nodiscard]] base::AddressRange function_from(uint64_t address);

 private:
  wire::Architecture architecture_;
  std::unique_ptr<elf::FrameTables> tables_;
};

}  // namespace heaptap::tracer
