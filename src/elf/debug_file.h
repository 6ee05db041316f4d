// Finds the separate debug file of an object: by its build-id, or by the name that its .gnu_debuglink gives; below
// /usr/lib/debug and beside the object, as the process sees files and as this one does.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "elf/elf_file.h"
#include "elf/object_file.h"

namespace heaptap::elf {

struct DebugLink {
  std::string name;
  uint32_t checksum = 0;
};
// Empty name: there is none.
DebugLink read_debug_link(const ByteSource& file, ElfForm form, const std::vector<ElfSection>& sections);

// Where a debug file of that build-id is, below /usr/lib/debug.
std::string debug_path_of(const std::vector<uint8_t>& build_id);

// `path` is the object's, as the process sees it. Only a file that is of this very object is opened.
base::UniqueFd open_debug_file(pid_t thread, const std::string& path, const std::vector<uint8_t>& build_id,
                               const DebugLink& link);
// The same of a process that this one holds, as open_object_file_bounded() has it.
base::UniqueFd open_debug_file_bounded(pid_t thread, const std::string& path, const std::vector<uint8_t>& build_id,
                                       const DebugLink& link);

}  // namespace heaptap::elf
