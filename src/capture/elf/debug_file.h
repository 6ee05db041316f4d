// Search for the separate debug file of an object: by build-id or by .gnu_debuglink, below /usr/lib/debug and beside
// the object, in the process's view of the file system and in this one's.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "common/base/byte_source.h"

namespace heaptap::elf {

struct DebugLink {
  std::string name;
  uint32_t checksum = 0;
};
// Empty name: none.
DebugLink read_debug_link(const base::ByteSource& file, ElfForm form, const std::vector<ElfSection>& sections);

// Path of a debug file with that build-id, below /usr/lib/debug.
std::string debug_path_of(const std::vector<uint8_t>& build_id);

// `path` is the object's, in the process's view. Opens only a file that belongs to this very object.
base::UniqueFd open_debug_file(pid_t thread, const std::string& path, const std::vector<uint8_t>& build_id,
                               const DebugLink& link);
// The same for a process that this one holds, bounded like open_object_file_bounded().
base::UniqueFd open_debug_file_bounded(pid_t thread, const std::string& path, const std::vector<uint8_t>& build_id,
                                       const DebugLink& link);

}  // namespace heaptap::elf
