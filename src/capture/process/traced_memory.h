// Memory of a running process for the tracer: through /proc/TID/mem, which can also write into code. Bound to one
// address space, even if the thread's number is reused; a vfork child shares its parent's. (process_vm_readv looks up
// the process by number each time, and is no faster here: 500 ns for 8 bytes, the file 410; 630 and 590 for a page.)
//
// An access to an absent page may have to wait for the very program that is held. So presence is checked first; absent
// pages, if not filled by a program (userfaultfd), are touched in a thread that can be abandoned.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "capture/process/present_pages.h"
#include "capture/process/userfaults.h"
#include "common/arch/cpu.h"
#include "common/base/byte_source.h"
#include "common/base/pages.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {

class TracedMemory final : public arch::TargetMemory, public base::ByteSource {
 public:
  // `thread`: any live thread of the process.
  explicit TracedMemory(pid_t thread);

  [[nodiscard]] bool is_open() const { return static_cast<bool>(*file_); }
  bool read(uint64_t address, void* to, size_t bytes) override;
  bool write(uint64_t address, const void* from, size_t bytes) override;
  size_t read_some(uint64_t address, void* to, size_t bytes) const override;

  // A thread is at this stack pointer and has just used its stack: the page is present.
  void note_stack_pointer(uint64_t stack_pointer) { used_page_ = stack_pointer / page_bytes_; }
  // Whether all of these bytes are accessible now without waiting for the program.
  bool comes(uint64_t address, size_t bytes, Access access) const;
  // Number of bytes before the first absent one.
  [[nodiscard]] size_t bytes_there(uint64_t address, size_t bytes, Access access) const;
  // An access timed out: the process should be released.
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

 private:
  bool touch(uint64_t address, Access access) const;

  std::shared_ptr<const base::UniqueFd> file_;
  PresentPages pages_;
  mutable Userfaults userfaults_;
  const uint64_t page_bytes_ = base::page_bytes();
  uint64_t used_page_ = 0;
  mutable bool has_given_up_ = false;
};

}  // namespace heaptap::process
