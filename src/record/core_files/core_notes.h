// Notes of a core file: what it says besides the memory itself.
#pragma once
#include <cstdint>

#include "common/arch/cpu.h"
#include "common/base/byte_source.h"
#include "record/core_files/core_file.h"

namespace heaptap::core_files {

// Adds what the notes in these bytes of the file say to `core`, whose form is known. Threads, in the order of the file.
void read_core_notes(const base::ByteSource& bytes, base::AddressRange place, const arch::Cpu& cpu, CoreFile& core);

}  // namespace heaptap::core_files
