// Modules mapped by a process, as a leak scan needs them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "capture/process/program_memory.h"
#include "common/base/address_range.h"

namespace heaptap::elf {

// Initial thread-local data of a module.
struct ThreadLocalImage {
  uint64_t address = 0;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;  // 0: none
  uint64_t alignment = 0;
};

struct ModuleImage {
  uint64_t bias = 0;  // load address minus the file's link address
  std::string path;
  std::vector<base::AddressRange> writable;  // .data, .bss, and what becomes read-only after relocation
  std::vector<base::AddressRange>
      page_rests;                             // rest of the first and last pages of `writable`, outside of the segments
  std::vector<base::AddressRange> read_only;  // constants, and what became read-only after relocation
  ThreadLocalImage thread_locals;
  uint64_t dynamic = 0;               // address of the dynamic section; 0: none
  uint64_t unwind_header = 0;         // .eh_frame_hdr; 0: none
  base::AddressRange unwind_segment;  // the loaded segment that contains it
  std::vector<base::AddressRange> code;
};

// Modules with the word size and byte order of `memory`.
std::vector<ModuleImage> find_modules(const process::ProgramMemory& memory);

}  // namespace heaptap::elf
