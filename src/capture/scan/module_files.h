// Files of a running program's modules, opened so that their unmodified pages can be read when the program runs on, or
// has ended. Private to scan/.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/process/process_memory.h"
#include "common/base/unique_fd.h"
#include "common/wire/architecture.h"

namespace heaptap::scan {

class ModuleFiles {
 public:
  ModuleFiles() = default;
  // `memory` is that of the process with this live thread.
  ModuleFiles(pid_t thread, const process::ProcessMemory& memory, wire::Architecture architecture);

  // Whether the file of each mapped code is here.
  [[nodiscard]] bool has_all(const std::vector<process::Mapping>& map) const;
  // From the file of this mapping, in which `address` lies. Returns the number of bytes before the first missing one.
  size_t read(const process::Mapping& mapping, uint64_t address, std::span<uint8_t> to) const;

 private:
  struct File {
    dev_t device;
    uint64_t inode;
    base::UniqueFd file;
  };
  [[nodiscard]] const File* find(const process::Mapping& mapping) const;

  std::vector<File> files_;
};

}  // namespace heaptap::scan
