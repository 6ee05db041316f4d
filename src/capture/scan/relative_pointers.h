// Relative pointers: words with the distance from their own block to another one. Used by programs whose data structures can
// also come from mapped files: fontconfig's patterns and character sets. Any number may match by coincidence, so they are
// accepted only by agreement (docs/decisions/0092-pointers-that-are-no-plain-words.md). Private to scan/.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/scan/added_pointers.h"
#include "capture/scan/scan_input.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Search limit: structures with relative pointers are small, and what follows may be anything.
inline constexpr uint64_t kMaxRelativeBytes = 4096;  // from the block's start

// Of words that, added to the address of their block, give the start of another one: those that are accepted, ascending by block
// and offset. `calls`: the allocating call, by site.
std::vector<BlockWord> find_relative_pointers(const model::HeapScan& scan, std::vector<BlockWord> words,
                                              const SiteCalls& calls, unsigned word_bytes);

}  // namespace heaptap::scan
