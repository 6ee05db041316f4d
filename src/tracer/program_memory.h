// A stopped thread's memory as its own instructions find it, for those that are emulated, and for its stack. /proc/TID/mem, which
// TracedMemory uses, writes where the program may not: a push there would run over the guard page of a stack. And it reads what
// the program can't, as zeros where nothing ever was: these would be taken for the end of a stack.
//
// False of memory that the program has to fill itself (userfaultfd): its own instruction has to go there.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "arch/cpu.h"
#include "process/traced_memory.h"

namespace heaptap::tracer {

class ProgramMemory final : public arch::TargetMemory {
 public:
  // `thread` is stopped, `memory` is its process's.
  ProgramMemory(pid_t thread, process::TracedMemory& memory) : thread_(thread), memory_(memory) {}

  // How many bytes came before the first that can't be read, or whose page isn't there now: a stack has none such between its frames
  // and its end.
  static size_t read_some(pid_t thread, const process::TracedMemory& memory, uint64_t address, void* to, size_t bytes);

  bool read(uint64_t address, void* to, size_t bytes) override;
  bool write(uint64_t address, const void* from, size_t bytes) override;

 private:
  bool stack_grows(uint64_t address);

  pid_t thread_;
  process::TracedMemory& memory_;
};

}  // namespace heaptap::tracer
