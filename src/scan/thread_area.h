// What the C library keeps for a thread: its stack, thread-local storage and control block.
//
//   begin ▸ [guard] stack … [static thread-local variables] [control block, at the thread pointer] ▸ end
//
// Sources: ELF Handling For Thread-Local Storage, 3.4; glibc nptl/descr.h, sysdeps/{x86_64,i386}/nptl/tls.h; musl
// src/internal/pthread_impl.h. Fields that move between versions are found by what they hold.
#pragma once
#include <optional>
#include <vector>

#include "arch/thread_facts.h"
#include "elf/module_image.h"
#include "process/process_memory.h"

namespace heaptap::scan {

// The memory that a thread was made in, guard included. None: it wasn't made by pthread_create (the main thread).
std::optional<base::AddressRange> find_thread_area(const process::ProcessMemory& memory, const arch::ThreadFacts& facts,
                                                   uint64_t thread_pointer);

// Whether musl made the thread: its control block leads to its neighbours in a ring of all threads.
bool is_musl_thread(const process::ProcessMemory& memory, uint64_t thread_pointer);

// The control block in a mapping that begins with memory that the C library made for a thread: near its end, unless the kernel
// has joined other memory to it. Whether the thread still runs is not said.
std::optional<uint64_t> find_control_block(process::ProcessMemory& memory, const process::Mapping& mapping);

// What was allocated for the table of thread-local blocks (DTV) of this control block's thread, by glibc. 0: none.
uint64_t thread_local_table_memory(const process::ProcessMemory& memory, uint64_t control_block);

// Whether the ended thread of this control block waits for pthread_join: then its result is still held there.
bool waits_for_join(const process::ProcessMemory& memory, const arch::ThreadFacts& facts, uint64_t control_block);

// A module with thread-local variables, as the loader numbers it.
struct ThreadLocalModule {
  uint64_t number;  // index into a thread's table of blocks
  uint64_t bias;
  uint64_t bytes;
  uint64_t static_offset;  // the variables lie so far below the thread pointer; 0: in a block of their own
};
struct ThreadLocalModules {
  std::vector<ThreadLocalModule> modules;
  bool musl = false;
};
ThreadLocalModules find_thread_local_modules(const process::ProcessMemory& memory,
                                             const std::vector<elf::ModuleImage>& modules, bool musl);

// One thread's table of blocks (DTV).
struct ThreadLocalBlock {
  uint64_t begin;
  uint64_t bytes;      // 0: not known
  uint64_t allocated;  // address that was allocated for it; 0: not known
  uint64_t module_bias;
};
struct ThreadLocalTable {
  base::AddressRange range;  // of the table itself; empty: none
  std::vector<ThreadLocalBlock> blocks;
  uint64_t static_begin = 0;  // the lowest static block, or the thread pointer
};
ThreadLocalTable read_thread_local_table(const process::ProcessMemory& memory, uint64_t thread_pointer,
                                         const ThreadLocalModules& modules);

}  // namespace heaptap::scan
