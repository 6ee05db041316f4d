// Words that lead to a block by how far it lies from the one that they stand in. Programs hold blocks so where the same structures
// also come from files that are mapped anywhere: fontconfig's patterns and sets of characters. A number may lead to a block's start by
// chance, so they are believed by agreement alone (docs/decisions/0092-pointers-that-are-no-plain-words.md). Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/heap_scan.h"
#include "scan/scan_input.h"

namespace heaptap::scan {

// Only such words count: structures that hold others so are small, and what is behind may be anything.
inline constexpr uint64_t kMaxRelativeBytes = 4096;  // from the block's start

// A word that, added to the address of its block, is the start of another one.
struct RelativeWord {
  uint32_t from;    // index into HeapScan::blocks
  uint32_t offset;  // of the word in its block, in words
  uint32_t to;
};

// Those that are believed, ascending by block and offset. `calls`: by site, which call allocates.
std::vector<RelativeWord> find_relative_pointers(const model::HeapScan& scan, std::vector<RelativeWord> words,
                                                 const SiteCalls& calls, unsigned word_bytes);

// Adds them to the scan's pointers, as tagged ones.
void add_relative_pointers(model::HeapScan& scan, std::span<const RelativeWord> pointers);

}  // namespace heaptap::scan
