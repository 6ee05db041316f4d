// Liveness of blocks according to glibc's allocator, for scans of a process whose releases weren't all seen: a block
// that nothing points to may have been released long ago.
//
// A heap is walked from its first chunk to its last (malloc/malloc.c; the layout was checked in glibc 2.36 and is
// assumed for 2.28 to 2.41):
//
//   chunk   {size of the one before, if that is free; size | flags} block …      flags: 1 the one before is in use,
//                                                                                 2 mapped for itself, 4 of another arena
//
// A block is in use if a chunk of its size begins there that the next one marks as used, and that is in no cache: the
// lists of threads (tcache) and of arenas (fast bins) hold chunks that are still marked as used. Any inconsistency
// makes the result unknown.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "capture/elf/module_image.h"
#include "capture/process/program_memory.h"

namespace heaptap::scan {

enum class ChunkLife : uint8_t {
  kInUse,
  kFree,     // released, or its memory is part of another block now
  kUnknown,  // of an unknown allocator, or in an inconsistent heap
};

// For each of `blocks`, which ascend and have the requested sizes. The process is stopped.
std::vector<ChunkLife> find_chunk_lives(process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules,
                                        std::span<const base::AddressRange> blocks);

// Blocks of chunks in use, with all bytes that they may use, and the heaps in which no others are: ascending. None where any heap is
// inconsistent, nothing proves which chunks are cached, or there are more than max_blocks.
struct ChunksInUse {
  std::vector<base::AddressRange> blocks;
  std::vector<base::AddressRange> heaps;
};
ChunksInUse find_chunks_in_use(process::ProgramMemory& memory, std::span<const elf::ModuleImage> modules,
                               size_t max_blocks);

}  // namespace heaptap::scan
