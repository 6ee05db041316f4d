// The memory of a running process as the tracer uses it: through /proc/TID/mem, which also writes into code. One address
// space, whoever else gets the thread's number later; a vfork child shares its parent's. (process_vm_readv finds the process
// by a number each time, and is no faster here: 500 ns for 8 bytes, the file 410; 630 and 590 for a page.)
//
// An access to a page that isn't there may have to wait for the very program that is held. So the kernel is asked first; what isn't
// there, and isn't filled by a program (userfaultfd), is touched by a thread that can be given up.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "arch/cpu.h"
#include "base/unique_fd.h"
#include "process/present_pages.h"
#include "process/userfaults.h"

namespace heaptap::process {

class TracedMemory final : public arch::TargetMemory {
 public:
  // `thread`: any live thread of the process.
  explicit TracedMemory(pid_t thread);

  [[nodiscard]] bool is_open() const { return static_cast<bool>(*file_); }
  bool read(uint64_t address, void* to, size_t bytes) override;
  bool write(uint64_t address, const void* from, size_t bytes) override;
  // How many bytes came before the first that can't be read.
  size_t read_some(uint64_t address, void* to, size_t bytes) const;

  // A thread stands there, and has just used its stack: the page is there.
  void note_stack_pointer(uint64_t stack_pointer) { used_page_ = stack_pointer / page_bytes_; }
  // Whether all of these can be reached now without waiting for the program.
  bool comes(uint64_t address, size_t bytes, Access access) const;
  // How many of the bytes come before the first that isn't there by now.
  [[nodiscard]] uint64_t bytes_there(uint64_t address, uint64_t bytes, Access access) const;
  // Something was waited for in vain: the process is to be let go.
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

 private:
  bool touch(uint64_t address, Access access) const;

  std::shared_ptr<const base::UniqueFd> file_;
  PresentPages pages_;
  mutable Userfaults userfaults_;
  const uint64_t page_bytes_ = PresentPages::page_bytes();
  uint64_t used_page_ = 0;
  mutable bool has_given_up_ = false;
};

}  // namespace heaptap::process
