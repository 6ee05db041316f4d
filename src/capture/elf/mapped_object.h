// ELF objects mapped by a process for execution, as the tracer needs them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/process/memory_map.h"
#include "common/arch/cpu.h"
#include "common/base/address_range.h"
#include "common/base/byte_source.h"

namespace heaptap::elf {

struct MappedObject {
  process::Mapping first;  // mapping with the ELF header
  uint64_t bias = 0;       // load address minus the file's link address
  base::AddressRange range;
  uint64_t entry = 0;    // entry point; 0: none
  uint64_t dynamic = 0;  // its dynamic section; 0: none
  uint64_t dynamic_bytes = 0;
  uint64_t unwind_header = 0;  // .eh_frame_hdr; 0: none
  std::string interpreter;     // the requested loader (libc.so.6 has one too)
  bool is_vdso = false;
  std::vector<uint8_t> build_id;
  bool is_go = false;  // made by the Go tools
  std::vector<base::AddressRange> code;
  std::vector<ElfSegment> loaded;  // in link order of the file
};

// Those of the CPU's architecture, ascending.
std::vector<MappedObject> find_mapped_objects(const base::ByteSource& memory, const std::vector<process::Mapping>& map,
                                              const arch::Cpu& cpu);

}  // namespace heaptap::elf
