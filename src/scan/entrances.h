// Where the pointers to each block of a scan lead to. Private to scan/.
#pragma once
#include <cstdint>
#include <vector>

#include "model/heap_scan.h"
#include "scan/interior_pointers.h"

namespace heaptap::scan {

// As offsets from the block's start.
struct Entrances {
  static constexpr uint32_t kNone = 0xffffffff;

  uint32_t first =
      kNone;  // 0 where a pointer is as good as one to the start, but for a cookie; kNone: nothing points to it
  uint32_t last = 0;
  bool is_held = false;  // by a variable that points to the start, or by a block that points to both
};

// By block. All of the scan's pointers must be there, as they were found: none that a rule has believed in. What looks like an
// array's cookie (a word, `word_bytes` long) may be a header of that length, with a small number in it.
std::vector<Entrances> find_entrances(const model::HeapScan& scan, const InteriorPointers& pointers,
                                      const InteriorPointers& roots, unsigned word_bytes);

}  // namespace heaptap::scan
