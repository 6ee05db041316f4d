// Fragmentation at a leak scan: what of the allocator's resident memory is free, by arena, and which stacks' blocks keep
// it resident.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/frame_list.h"
#include "analysis/report/leak_counts.h"
#include "common/model/resident_regions.h"

namespace heaptap::report {

struct ArenaUse {
  model::RegionKind kind = model::RegionKind::kHeap;  // one that holds blocks
  uint32_t arena = 0;                                 // of kArena: its number
  uint64_t reserved_bytes = 0;                        // its part of the address space
  uint64_t resident_bytes = 0;
  BlockCount live = {};       // blocks in its resident pages
  uint64_t unused_bytes = 0;  // resident pages without a live block
  [[nodiscard]] uint64_t free_bytes() const { return resident_bytes - live.bytes; }
};

// Blocks of one stack in resident pages of the allocator.
struct StackKeep {
  uint64_t stack_id = 0;
  std::string function;
  std::vector<FrameIndex> frames;
  BlockCount live = {};
  uint64_t pages = 0;       // with a block of it
  uint64_t kept_bytes = 0;  // its share of the rest of these pages, divided by bytes among a page's stacks
};

struct Fragmentation {
  uint64_t page_bytes = 0;
  std::vector<ArenaUse> arenas;   // most resident memory first
  std::vector<StackKeep> stacks;  // most kept bytes first
  uint64_t stack_count = 0;       // listed or not
  uint64_t kept_bytes = 0;        // of all stacks
  uint64_t unused_bytes = 0;      // of all arenas
};

}  // namespace heaptap::report
