// What a module's ELF headers say, read from the target's memory where the loader has mapped them. Trusts no byte.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/address_range.h"
#include "process/process_memory.h"

namespace heaptap::elf {

// A module's initial thread-local variables.
struct ThreadLocalImage {
  uint64_t address = 0;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;  // 0: it has none
  uint64_t alignment = 0;
};

struct ModuleImage {
  uint64_t bias = 0;  // load address minus the file's link address
  std::string path;
  std::vector<base::AddressRange> writable;    // .data, .bss, and what becomes read-only after relocation
  std::vector<base::AddressRange> page_rests;  // what the first and last pages of `writable` have besides the segments
  std::vector<base::AddressRange> read_only;   // constants, and what became read-only after relocation
  ThreadLocalImage thread_locals;
  uint64_t dynamic = 0;               // address of the dynamic section; 0: none
  uint64_t unwind_header = 0;         // .eh_frame_hdr; 0: none
  base::AddressRange unwind_segment;  // the loaded segment that holds it
  std::vector<base::AddressRange> code;
};

// Those whose word length and byte order are those of `memory`.
std::vector<ModuleImage> find_modules(const process::ProcessMemory& memory);

}  // namespace heaptap::elf
