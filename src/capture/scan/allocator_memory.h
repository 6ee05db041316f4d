// Allocator-internal memory and free memory: it contains pointers to blocks that keep nothing alive.
//
// glibc (malloc/malloc.c, malloc/arena.c; the layout was checked in 2.36 and is assumed for 2.28 to 2.41):
//   main arena     in libc's data: … top last_remainder bins[254] binmap next …   An empty bin points to itself. The part before top
//                  is found through the ring of the arenas' start addresses.
//   other arenas   64 MiB-aligned memory that begins with heap_info {arena, previous, size, mprotect_size}
//   large blocks   {offset, size | 2} before the block, in memory of their own
// musl (src/malloc/mallocng/meta.h, from 1.2.1 on): its internal memory is in the brk heap, or doesn't point to blocks. Blocks
// lie in groups:
//   group    {meta, …} slots …                                    at the start of a page, if it has pages of its own
//   meta     {previous, next, group, two masks, 12 bits | pages << 12}
// Of other allocators only this is known: what shares a mapping with their blocks belongs to them.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "capture/elf/module_image.h"
#include "capture/process/program_memory.h"

namespace heaptap::scan {

// The words of glibc's main arena, if a module's data contain one.
std::vector<base::AddressRange> find_main_arenas(const process::ProgramMemory& memory, const elf::ModuleImage& module);

// Start of its bins, after top and last_remainder.
uint64_t bins_of_main_arena(const process::ProgramMemory& memory, base::AddressRange main_arena);

// End of this main arena's brk heap, according to the arena: memory after it was obtained from brk by the program
// itself. 0: unknown.
uint64_t end_of_main_heap(const process::ProgramMemory& memory, base::AddressRange main_arena);

// Whether the C library is a shared object: else the program is static.
bool has_c_library(std::span<const elf::ModuleImage> modules);
// Whether code other than the C library may call one of these functions, whose names are between zeros: a module that
// imports it, or a static program.
bool may_call(const process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules,
              std::span<const std::string_view> functions);
// Whether code other than the C library may call brk: a module that imports it, or a static program.
bool may_share_break(const process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules);

// Parts of the brk heap that belong to this main arena, as far as its chunks can be followed: memory of other users of
// brk lies before, between and after them. `blocks`: live blocks, ascending; each part begins with one.
std::vector<base::AddressRange> main_heap_parts(const process::ProgramMemory& memory, base::AddressRange main_arena,
                                                base::AddressRange heap, std::span<const base::AddressRange> blocks);

// Heap of an arena other than the main one, according to its head.
struct ArenaHeap {
  base::AddressRange range;  // the part of its memory in use so far
  uint64_t arena;            // its arena's address
  uint64_t head_bytes;       // of the head; then follows the arena, in the arena's first heap, and then chunks
};
std::vector<ArenaHeap> find_arena_heaps(process::ProgramMemory& memory, base::AddressRange range);

// Memory that glibc mapped for this block alone, according to the words before the block.
std::optional<base::AddressRange> memory_of_mapped_block(const process::ProgramMemory& memory, uint64_t block);

// Parts of the anonymous mapping that belong to an allocator. `heap`: block ranges, ascending.
std::vector<base::AddressRange> find_heap_parts(process::ProgramMemory& memory, const process::Mapping& mapping,
                                                std::span<const base::AddressRange> heap, bool musl);

}  // namespace heaptap::scan
