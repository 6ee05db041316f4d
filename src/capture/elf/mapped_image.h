// ELF image in a process's memory, as its loader mapped it. Found through the memory map and the headers in memory: the
// loader's list may not exist yet, be changing, or belong to another loader. Trusts no byte.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/process/memory_map.h"
#include "common/base/address_range.h"
#include "common/base/byte_source.h"

namespace heaptap::elf {

struct MappedImage {
  process::Mapping first;  // mapping with the ELF header
  ElfHeaders headers;
  uint64_t bias = 0;                      // load address minus the file's link address; may be "negative"
  std::vector<ElfSegment> segments = {};  // those that fit into the address space

  [[nodiscard]] base::AddressRange range_of(const ElfSegment& segment) const;
  // Whether the mapping at the segment's address is the file's, at the segment's offset. False: the program only reads
  // the file, or has moved the segment to other memory.
  [[nodiscard]] bool is_mapped_by(const process::Mapping& mapping, const ElfSegment& segment) const;
};

// Whether an image may begin with this mapping: one of a file from its start, or the vDSO.
bool may_begin_image(const process::Mapping& mapping);

// None: no ELF header there, or no segment that contains it.
std::optional<MappedImage> read_mapped_image(const base::ByteSource& memory, const process::Mapping& first);

}  // namespace heaptap::elf
