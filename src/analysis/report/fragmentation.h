// Fragmentation at a leak scan: what of the allocator's resident memory is free, by arena, and which stacks' blocks keep
// it resident. At any other moment: on which pages the live blocks are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/frame_list.h"
#include "analysis/report/leak_counts.h"
#include "analysis/report/purpose.h"
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

// Blocks of one stack in resident pages of the allocator; at a moment without a scan, in any pages.
struct StackKeep {
  uint64_t stack_id = 0;
  std::string function;
  Purpose purpose = Purpose::kProgram;
  std::vector<FrameIndex> frames;
  BlockCount live = {};
  uint64_t pages = 0;        // with a block of it
  uint64_t kept_bytes = 0;   // its share of the rest of these pages, divided by bytes among a page's stacks
  BlockCount unplaced = {};  // without a scan: not in `live`, since their addresses are unknown
};

struct Fragmentation {
  uint64_t page_bytes = 0;
  std::vector<ArenaUse> arenas;   // most resident memory first
  std::vector<StackKeep> stacks;  // most kept bytes first
  uint64_t stack_count = 0;       // listed or not
  uint64_t kept_bytes = 0;        // of all stacks
  uint64_t unused_bytes = 0;      // of all arenas
};

// Pages with live blocks at a moment without a scan: which of them are resident is unknown.
struct MomentPages {
  enum class At : uint8_t { kTime, kMark, kPeak, kEnd };
  At at = At::kTime;
  uint64_t time_ns = 0;
  uint64_t page_bytes = 0;
  bool knows_all_blocks = true;    // false: blocks from before the recording, or lost ones, aren't among these
  bool knows_all_releases = true;  // false: some of these blocks may be none
  BlockCount placed = {};
  BlockCount unplaced = {};       // their addresses are unknown
  uint64_t pages = 0;             // with placed blocks
  uint64_t rest_bytes = 0;        // of these pages, beside their blocks
  std::vector<StackKeep> stacks;  // most kept bytes first
  uint64_t stack_count = 0;       // listed or not
  uint32_t nearest_scan = 0;      // number; 0: there is none
  uint64_t nearest_scan_ns = 0;

  // What the placed blocks of a stack, or of all, keep is at most their share of the rest: pages may not be resident, and
  // unplaced blocks may lie in them. If releases are missing even that is unknown.
  [[nodiscard]] std::optional<uint64_t> placed_keep_at_most(uint64_t share_bytes) const {
    return knows_all_releases ? std::optional(share_bytes) : std::nullopt;
  }
  // The same of all blocks, unplaced ones too.
  [[nodiscard]] std::optional<uint64_t> keeps_at_most() const {
    return unplaced.blocks == 0 && knows_all_blocks ? placed_keep_at_most(rest_bytes) : std::nullopt;
  }
  [[nodiscard]] std::optional<uint64_t> keeps_at_most(const StackKeep& stack) const {
    return stack.unplaced.blocks == 0 && knows_all_blocks ? placed_keep_at_most(stack.kept_bytes) : std::nullopt;
  }
};

}  // namespace heaptap::report
