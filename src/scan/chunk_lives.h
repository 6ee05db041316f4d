// What glibc's allocator itself says of blocks: whether they are in use. For scans of a process whose releases weren't all
// seen: a block that nothing points to may have been released long ago.
//
// A heap is walked from its first chunk to its last, chunk by chunk (malloc/malloc.c; the layout was looked at in
// glibc 2.36, that it is so from 2.28 to 2.41 is inferred):
//
//   chunk   {size of the one before, if that is free; size | flags} block …      flags: 1 the one before is in use,
//                                                                                 2 mapped for itself, 4 of another arena
//
// A block is in use if a chunk of its size begins there, which the next one calls used, and which is in no cache: the lists of
// threads (tcache) and of arenas (fast bins) hold chunks that still count as used. What doesn't fit together in every detail
// is not concluded from.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "elf/module_image.h"
#include "process/process_memory.h"

namespace heaptap::scan {

enum class ChunkLife : uint8_t {
  kInUse,
  kFree,     // released, or its memory is another block's by now
  kUnknown,  // of an allocator that isn't known here, or in a heap that doesn't make sense
};

// For each of `blocks`, which ascend and are as long as was asked for. The process is stopped.
std::vector<ChunkLife> find_chunk_lives(process::ProcessMemory& memory, std::span<const elf::ModuleImage> modules,
                                        std::span<const base::AddressRange> blocks);

}  // namespace heaptap::scan
