// Function starts of an object, from its own unwind table: the proof required for function addresses from another machine.
#pragma once
#include <cstdint>
#include <memory>

#include "capture/elf/elf_headers.h"
#include "capture/elf/frame_tables.h"
#include "capture/tracer/loaded_objects.h"
#include "common/base/address_range.h"
#include "common/base/byte_source.h"
#include "common/wire/architecture.h"

namespace heaptap::tracer {

class FunctionStarts {
 public:
  // `memory` must outlive it.
  FunctionStarts(const base::ByteSource& memory, wire::Architecture architecture, const LoadedObject& object);

  // Code of the function that begins there. Empty: none, according to the table; the cold part of a function, which is
  // reached by a jump, doesn't count.
  [[nodiscard]] base::AddressRange function_from(uint64_t address);

 private:
  wire::Architecture architecture_;
  std::unique_ptr<elf::FrameTables> tables_;
};

}  // namespace heaptap::tracer
