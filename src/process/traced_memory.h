// The memory of a running process as the tracer uses it: through /proc/TID/mem, which also writes into code. One address
// space, whoever else gets the thread's number later; a vfork child shares its parent's. (process_vm_readv finds the process
// by a number each time, and is no faster here: 500 ns for 8 bytes, the file 410; 630 and 590 for a page.)
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "arch/cpu.h"
#include "base/unique_fd.h"

namespace heaptap::process {

class TracedMemory final : public arch::TargetMemory {
 public:
  // `thread`: any live thread of the process.
  explicit TracedMemory(pid_t thread);

  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }
  bool read(uint64_t address, void* to, size_t bytes) override;
  bool write(uint64_t address, const void* from, size_t bytes) override;
  // How many bytes came before the first that can't be read.
  size_t read_some(uint64_t address, void* to, size_t bytes) const;

 private:
  base::UniqueFd file_;
};

}  // namespace heaptap::process
