// Memory of a stopped thread with the access rights of its own instructions, for emulation and for its stack.
// /proc/TID/mem, which TracedMemory uses, writes where the program may not: a push would overwrite a stack's guard
// page. It also reads inaccessible memory as zeros, which would be taken for the end of a stack.
//
// False for memory that the program has to fill itself (userfaultfd): the original instruction must execute there.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "capture/process/traced_memory.h"
#include "common/arch/cpu.h"

namespace heaptap::tracer {

class ThreadMemory final : public arch::TargetMemory {
 public:
  // `thread` is stopped, `memory` is its process's.
  ThreadMemory(pid_t thread, process::TracedMemory& memory) : thread_(thread), memory_(memory) {}

  // Returns the number of bytes before the first that is unreadable or whose page is absent: a stack has no such bytes
  // between its frames and its end.
  static size_t read_some(pid_t thread, const process::TracedMemory& memory, uint64_t address, void* to, size_t bytes);

  bool read(uint64_t address, void* to, size_t bytes) override;
  bool write(uint64_t address, const void* from, size_t bytes) override;

 private:
  bool stack_grows(uint64_t address);

  pid_t thread_;
  process::TracedMemory& memory_;
};

}  // namespace heaptap::tracer
