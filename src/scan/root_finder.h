// Where in a stopped process pointers can be that hold blocks by themselves.
//
// Roots: modules' writable data; other memory that is no heap; stacks from the stack pointer (less the red zone, if used) to their
// end; registers; thread-local storage; words that the kernel keeps (epoll). No roots: what an allocator keeps for itself or
// has free; dead stack; stacks of threads that ended; what the agent has. Memory whose origin isn't known counts as a root:
// better a leak that isn't seen than a false alarm.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "base/address_range.h"
#include "model/note.h"
#include "process/process_memory.h"
#include "process/stopped_process.h"
#include "wire/heap_scan.h"

namespace heaptap::scan {

// The thread that ends the process: its stack lives from live_sp, whatever its stack pointer is now.
struct ExitingThread {
  uint32_t thread_id;
  uint64_t live_sp;
  // Its registers are what the program had when it called for its end. False: they are the agent's.
  bool registers_are_programs = false;
};

struct RootQuery {
  std::span<const base::AddressRange> heap;  // in which live blocks lie; ascending, apart from each other
  // False: some were allocated before the recording began, or weren't recorded. Then all that isn't a known block counts as a
  // root in the allocators' memory too.
  bool heap_is_complete = true;
  // Where it isn't: blocks that were seen to be allocated and released, and whose address nobody got again; ascending.
  std::span<const base::AddressRange> released;
  std::span<const base::AddressRange> mapped;  // by the program's own calls of mmap
  std::span<const base::AddressRange> own;     // the agent's
  std::span<const wire::StackArea> stacks;
  std::optional<ExitingThread> ending;
};

// One module's thread-local variables in one thread.
struct ThreadSegment {
  uint64_t begin;
  uint64_t end;
  uint32_t thread_id;
  uint64_t module_base;     // the module's load bias
  uint64_t segment_offset;  // of `begin` in the module's thread-local segment
};

struct Roots {
  // Ascending, apart from each other, without `own`; without `heap`, or with it in mappings if that isn't complete. Not everything in them was ever touched: ask
  // ProcessMemory::touched_ranges before reading.
  std::vector<wire::RootRange> ranges;
  // Registers, and what the kernel keeps. With DWARF's number of the thread pointer: what the C library holds for the thread (its table of
  // thread-local blocks and these blocks); of the stack pointer: also the alternate stack that the kernel knows.
  std::vector<wire::RootWord> words;
  std::vector<wire::StackFrame> frames;
  std::vector<ThreadSegment> thread_locals;
  std::vector<base::AddressRange> read_only_data;  // of modules
  std::vector<model::Note> notes;                  // what couldn't be seen
};

Roots find_roots(const process::StoppedProcess& process, process::ProcessMemory& memory, const RootQuery& query);

}  // namespace heaptap::scan
