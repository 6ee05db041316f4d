// Relative pointers: words with the distance from their own block to another one. Used by programs whose data structures can
// also come from mapped files: fontconfig's patterns and character sets. Any number may match by coincidence, so they are
// accepted only by agreement (docs/decisions/0092-pointers-that-are-no-plain-words.md). Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "capture/scan/scan_input.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Search limit: structures with relative pointers are small, and what follows may be anything.
inline constexpr uint64_t kMaxRelativeBytes = 4096;  // from the block's start

// Word that, added to the address of its block, gives the start of another one.
struct RelativeWord {
  uint32_t from;    // index into HeapScan::blocks
  uint32_t offset;  // of the word in its block, in words
  uint32_t to;
};

// Accepted words, ascending by block and offset. `calls`: the allocating call, by site.
std::vector<RelativeWord> find_relative_pointers(const model::HeapScan& scan, std::vector<RelativeWord> words,
                                                 const SiteCalls& calls, unsigned word_bytes);

// Adds them to the scan's pointers, as tagged ones.
void add_relative_pointers(model::HeapScan& scan, std::span<const RelativeWord> pointers);

}  // namespace heaptap::scan
