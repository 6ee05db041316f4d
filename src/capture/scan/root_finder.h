// Root finder for a stopped process: the memory and values whose pointers keep blocks alive by themselves.
//
// Roots: modules' writable data; other memory that is no heap; stacks from the stack pointer (less the red zone, if
// used) to their end; registers; thread-local storage; words kept by the kernel (epoll). No roots: allocator-internal
// and free memory; dead stack; stacks of ended threads; memory of the agent. Memory of unknown origin counts as a root:
// a missed leak is better than a false alarm.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "capture/process/program_memory.h"
#include "capture/process/stopped_process.h"
#include "capture/scan/kernel_words.h"
#include "capture/scan/resident_regions.h"
#include "common/base/address_range.h"
#include "common/model/crash.h"
#include "common/model/note.h"
#include "common/wire/heap_scan.h"

namespace heaptap::scan {

// Thread that ends the process: its stack is live from live_sp, whatever its stack pointer is now. 0: from its stack pointer.
struct ExitingThread {
  uint32_t thread_id;
  uint64_t live_sp;
  // Its registers are the program's at its call of exit. False: they are the agent's.
  bool registers_are_programs = false;
  // A signal that ends it with a core dump; 0: none. Where the registers are the agent's, live_sp is the address of the
  // context that the kernel saved for the agent's handler.
  int crash_signal = 0;
};

struct RootQuery {
  std::span<const base::AddressRange> heap;  // ranges with live blocks; ascending, disjoint
  // False: some blocks were allocated before the recording, or not recorded. Then allocators' memory outside of known
  // blocks counts as a root too.
  bool heap_is_complete = true;
  // In that case: heaps of which all blocks are known nevertheless, ascending and disjoint: no root.
  std::span<const base::AddressRange> known_heaps = {};
  std::span<const base::AddressRange> doubtful = {};  // parts of these that may be blocks, and count as roots
  // And blocks with a seen allocation and release whose address wasn't reused; ascending.
  std::span<const base::AddressRange> released;
  std::span<const base::AddressRange> mapped;  // by the program's own mmap calls
  std::span<const base::AddressRange> own;     // of the agent
  std::span<const wire::StackArea> stacks;
  std::optional<ExitingThread> ending;
  // False: the process is gone, and with it what its kernel kept for it.
  bool has_kernel = true;
  // What was read of that while the process was stopped. Null: it still is.
  const KernelFacts* kernel = nullptr;
};

// Thread-local variables of one module in one thread.
struct ThreadSegment {
  uint64_t begin;
  uint64_t end;
  uint32_t thread_id;
  uint64_t module_base;     // load bias of the module
  uint64_t segment_offset;  // offset of `begin` in the module's thread-local segment
};

struct Roots {
  // Ascending, disjoint, without `own`; without `heap`, or with its mappings if it is incomplete. May include untouched
  // memory: call ProgramMemory::touched_ranges before reading.
  std::vector<wire::RootRange> ranges;
  // Registers, and words kept by the kernel. Under the DWARF number of the thread pointer: the C library's per-thread data (the
  // table of thread-local blocks and these blocks); of the stack pointer: also the alternate stack known to the kernel.
  std::vector<wire::RootWord> words;
  std::vector<wire::StackFrame> frames;
  std::vector<ThreadSegment> thread_locals;
  std::vector<base::AddressRange> read_only_data;  // of modules
  std::vector<model::Note> notes;                  // memory that couldn't be examined
  MemoryLayout layout;
  std::optional<model::Crash> crash = {};  // none: no crash, or unknown
};

Roots find_roots(const process::StoppedProcess& process, process::ProgramMemory& memory, const RootQuery& query);

}  // namespace heaptap::scan
