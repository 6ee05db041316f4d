// Per-thread memory of the C library: stack, thread-local storage and control block.
//
//   begin ▸ [guard] stack … [static thread-local variables] [control block, at the thread pointer] ▸ end
//   begin ▸ [guard] stack … [control block] [static thread-local variables, from the thread pointer on] ▸ end
//
// The CPU determines which (arch::native::kControlBlockIsBelow). Sources: ELF Handling For Thread-Local Storage, 3.4; glibc
// nptl/descr.h, sysdeps/{x86_64,i386,aarch64}/nptl/tls.h; musl src/internal/pthread_impl.h. Fields whose offset varies between versions are
// found by their content.
#pragma once
#include <optional>
#include <vector>

#include "capture/elf/module_image.h"
#include "capture/process/program_memory.h"
#include "capture/process/thread_state.h"
#include "common/arch/thread_facts.h"

namespace heaptap::scan {

// Facts of a process's C library.
struct ControlBlocks {
  const arch::ThreadFacts& facts;
  uint64_t bytes;  // of a control block, without those thread-local variables

  [[nodiscard]] base::AddressRange at(uint64_t thread_pointer) const;
};

// `threads`: some that live.
ControlBlocks find_control_blocks(const process::ProgramMemory& memory, const arch::ThreadFacts& facts,
                                  const std::vector<process::StoppedThread>& threads, bool musl);

// The memory allocated for a thread, guard included. None: not made by pthread_create (the main thread).
std::optional<base::AddressRange> find_thread_area(const process::ProgramMemory& memory, const ControlBlocks& blocks,
                                                   uint64_t thread_pointer);

// Whether musl made the thread: its control block is in a ring of all threads.
bool is_musl_thread(const process::ProgramMemory& memory, uint64_t thread_pointer);

// The thread pointer of a control block in a mapping that begins with a thread's memory: near its end, unless the kernel has merged
// other memory into the mapping. Doesn't tell whether the thread still runs.
std::optional<uint64_t> find_thread_pointer(process::ProgramMemory& memory, const ControlBlocks& blocks,
                                            const process::Mapping& mapping);

// Address allocated by glibc for the table of thread-local blocks (DTV) of this thread. 0: none.
uint64_t thread_local_table_memory(const process::ProgramMemory& memory, uint64_t thread_pointer);

// Whether this ended thread waits for pthread_join: then its result is still held in its control block.
bool waits_for_join(const process::ProgramMemory& memory, const ControlBlocks& blocks, uint64_t thread_pointer);

// Module with thread-local variables, in the loader's numbering.
struct ThreadLocalModule {
  uint64_t number;  // index into a thread's table of blocks
  uint64_t bias;
  uint64_t bytes;
  uint64_t static_offset;  // distance of the variables from the thread pointer; 0: in a block of their own
};
struct ThreadLocalModules {
  std::vector<ThreadLocalModule> modules;
  bool musl = false;
};
ThreadLocalModules find_thread_local_modules(const process::ProgramMemory& memory,
                                             const std::vector<elf::ModuleImage>& modules, bool musl);

// Table of thread-local blocks (DTV) of one thread.
struct ThreadLocalBlock {
  uint64_t begin;
  uint64_t bytes;      // 0: unknown
  uint64_t allocated;  // address allocated for it; 0: unknown
  uint64_t module_bias;
};
struct ThreadLocalTable {
  base::AddressRange range;  // of the table itself; empty: none
  std::vector<ThreadLocalBlock> blocks;
  base::AddressRange statics;  // the blocks between the thread pointer and the farthest static one
};
ThreadLocalTable read_thread_local_table(const process::ProgramMemory& memory, const ControlBlocks& blocks,
                                         uint64_t thread_pointer, const ThreadLocalModules& modules);

}  // namespace heaptap::scan
