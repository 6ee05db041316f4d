// Entrances of blocks: the offsets that pointers to each block lead to. Private to scan/.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/scan/interior_pointers.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Offsets from the block's start.
struct Entrances {
  static constexpr uint32_t kNone = 0xffffffff;

  uint32_t first =
      kNone;  // 0 if some pointer counts as one to the start, except for a cookie; kNone: nothing points to it
  uint32_t last = 0;
  bool is_held = false;  // held by a variable that points to the start, or by a block that points to both
};

// By block. All of the scan's pointers must be present, as found: before any rule has accepted some. An apparent array
// cookie (a word of `word_bytes`) may be a header of that length that contains a small number.
std::vector<Entrances> find_entrances(const model::HeapScan& scan, const InteriorPointers& pointers,
                                      const InteriorPointers& roots, unsigned word_bytes);

}  // namespace heaptap::scan
