// What an allocator keeps for itself, and what is free: memory that points to blocks without holding them.
//
// glibc (malloc/malloc.c, malloc/arena.c; the layout was looked at in 2.36, that it is so from 2.28 to 2.41 is inferred):
//   main arena     in libc's data: … top last_remainder bins[254] binmap next …   An empty bin points to itself. What is in front
//                  of top is found: the arenas are a ring by their beginnings.
//   other arenas   64 MiB-aligned memory that begins with heap_info {arena, previous, size, mprotect_size}
//   large blocks   {offset, size | 2} in front of the block, memory of their own
// musl (src/malloc/mallocng/meta.h, from 1.2.1 on): what it keeps for itself is in memory of brk, or points to no block. Blocks
// lie in groups:
//   group    {meta, …} slots …                                    at the start of a page, if it has pages of its own
//   meta     {previous, next, group, two masks, 12 bits | pages << 12}
// Of others only this is known: what lies in one mapping with their blocks is theirs.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "elf/module_image.h"
#include "process/process_memory.h"

namespace heaptap::scan {

// The words of glibc's main arena, where a module's data hold one.
std::vector<base::AddressRange> find_main_arenas(const process::ProcessMemory& memory, const elf::ModuleImage& module);

// Where its bins begin, behind top and last_remainder.
uint64_t bins_of_main_arena(const process::ProcessMemory& memory, base::AddressRange main_arena);

// Where the heap of this main arena that brk made ends, as the arena knows it: what lies behind it, the program got from brk by
// itself. 0: not known.
uint64_t end_of_main_heap(const process::ProcessMemory& memory, base::AddressRange main_arena);

// Whether the C library is a loaded object of its own: else the program is static.
bool has_c_library(std::span<const elf::ModuleImage> modules);
// Whether something in the process besides the C library may ask for memory by brk: a module that names the call, or a static program.
bool may_share_break(const process::ProcessMemory& memory, std::span<const elf::ModuleImage> modules);

// The parts of the heap that brk made which are this main arena's, as far as its chunks lead through them: what others got from brk
// lies before, between and behind them. `blocks`: where live blocks lie, ascending; each begins with one.
std::vector<base::AddressRange> main_heap_parts(const process::ProcessMemory& memory, base::AddressRange main_arena,
                                                base::AddressRange heap, std::span<const base::AddressRange> blocks);

// A heap of an arena other than a main one, as its head tells it.
struct ArenaHeap {
  base::AddressRange range;  // what it has taken into use of its memory so far
  uint64_t arena;            // its arena's address
  uint64_t head_bytes;       // of the head; behind it comes the arena, in the arena's first heap, and then chunks
};
std::vector<ArenaHeap> find_arena_heaps(process::ProcessMemory& memory, base::AddressRange range);

// Parts of the anonymous mapping that are an allocator's. `heap`: where blocks lie, ascending.
std::vector<base::AddressRange> find_heap_parts(process::ProcessMemory& memory, const process::Mapping& mapping,
                                                std::span<const base::AddressRange> heap, bool musl);

}  // namespace heaptap::scan
