// Pointers into blocks that the program aligns by hand: it allocates more than it needs, keeps a pointer to the first aligned
// place behind what it has to remember, and none to the start. Private to scan/.
#pragma once
#include <cstdint>

#include "model/heap_scan.h"
#include "scan/interior_pointers.h"

namespace heaptap::scan {

// Whether a pointer into the block's middle leads to such a place, and hardly by chance: of a block's words few are one. A
// variable of the program is believed more than a word of another block.
constexpr bool is_to_aligned_place(const model::ScannedBlock& held, uint64_t offset, bool is_variable) {
  constexpr uint64_t kGivenAlignment = 16;  // what malloc aligns to by itself
  constexpr uint64_t kLeastAlignment = 64;  // a cache's line
  constexpr uint64_t kLargestAlignment = 4096;
  constexpr uint64_t kMaxRemembered = 64;  // bytes: the start, a size, a magic number
  constexpr uint64_t kLeastBytes = 1024;
  constexpr uint64_t kLeastOfVariable = 4096;  // where what is less aligned is believed
  const uint64_t pointer = held.address + offset;
  if (offset == 0 || offset >= held.size_bytes || held.size_bytes < kLeastBytes) return false;
  const bool may_be_less = is_variable && held.size_bytes >= kLeastOfVariable;
  if (may_be_less && offset <= kMaxRemembered && pointer % kGivenAlignment == 0) return true;
  uint64_t alignment = may_be_less ? 2 * kGivenAlignment : kLeastAlignment;
  for (; alignment <= kLargestAlignment && pointer % alignment == 0; alignment *= 2) {
    if (offset < alignment + kMaxRemembered) return true;
  }
  return false;
}

// Makes kAligned of those pointers into middles that have no other reason.
void mark_aligned_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots);

}  // namespace heaptap::scan
