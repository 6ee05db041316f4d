// Mappings that a scan searches for pointers. Private to scan/.
#pragma once
#include "capture/process/memory_map.h"
#include "capture/process/program_memory.h"

namespace heaptap::scan {

// Not device memory: reading it may have side effects. For shared mappings.
bool is_shared_memory(const process::Mapping& mapping);

// Code that the program made, in memory of its own or shared between a view to write and one to run.
bool has_made_code(const process::Mapping& mapping);

// A database's file, for instance: reading all of it would stop the program for long. `touched_bytes`: of the mapping.
inline constexpr uint64_t kMaxTouchedBytes = uint64_t{256} << 20;
bool may_be_large_file(const process::Mapping& mapping);
bool is_large_file(const process::Mapping& mapping, process::ProgramMemory& memory);

}  // namespace heaptap::scan
