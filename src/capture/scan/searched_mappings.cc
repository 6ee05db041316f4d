#include "capture/scan/searched_mappings.h"

#include <string>

namespace heaptap::scan {

bool is_shared_memory(const process::Mapping& mapping) {
  const std::string& name = mapping.name;
  if (name.starts_with("/dev/zero") || name.starts_with("/dev/shm/") || name == "anon_inode:[io_uring]") return true;
  for (const char* devices : {"/dev/", "/sys/", "/proc/", "/dmabuf"}) {
    if (name.starts_with(devices)) return false;
  }
  return name.empty() || name.starts_with('/');
}

bool has_made_code(const process::Mapping& mapping) {
  const bool is_made = !mapping.has_file() || (mapping.shared && !mapping.is_of_file_system());
  return mapping.executable && is_made;
}

bool may_be_large_file(const process::Mapping& mapping) {
  return mapping.range.size() > kMaxTouchedBytes && !mapping.name.empty() && !mapping.name.starts_with("/memfd:");
}

bool is_large_file(const process::Mapping& mapping, process::ProgramMemory& memory) {
  if (!may_be_large_file(mapping)) return false;
  uint64_t touched = 0;
  for (const base::AddressRange& part : memory.touched_ranges(mapping.range.begin, mapping.range.end))
    touched += part.size();
  return touched > kMaxTouchedBytes;
}

}  // namespace heaptap::scan
