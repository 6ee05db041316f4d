// Entrances of blocks: the offsets that pointers to each block lead to. Private to scan/.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "capture/scan/interior_pointers.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Part of a block before an offset, as a divisor: 5 is a fifth of the block. Powers of two are no shares: in blocks that grow by
// doubling, the contents end there.
inline constexpr uint32_t kNoShare = 0;
constexpr uint32_t share_before(uint64_t size_bytes, uint64_t offset) {
  constexpr uint64_t kSmallest = 15;
  if (offset == 0 || offset >= size_bytes || size_bytes / offset > kSmallest || size_bytes % offset != 0)
    return kNoShare;
  const uint64_t share = size_bytes / offset;
  return std::has_single_bit(share) ? kNoShare : static_cast<uint32_t>(share);
}
constexpr uint16_t share_bit(uint32_t share) { return static_cast<uint16_t>(share == kNoShare ? 0 : 1u << share); }

// Offsets from the block's start.
struct Entrances {
  static constexpr uint32_t kNone = 0xffffffff;

  uint32_t first =
      kNone;  // 0 if some pointer counts as one to the start, except for a cookie; kNone: nothing points to it
  uint32_t last = 0;
  uint16_t shares = 0;   // share_bit() of those of pointers into the middle
  bool is_held = false;  // held by a variable that points to the start, or by a block that points to both
};

// By block. All of the scan's pointers must be present, as found: before any rule has accepted some. An apparent array
// cookie (a word of `word_bytes`) may be a header of that length that contains a small number.
std::vector<Entrances> find_entrances(const model::HeapScan& scan, const InteriorPointers& pointers,
                                      const InteriorPointers& roots, unsigned word_bytes);

}  // namespace heaptap::scan
