// Pointers into blocks aligned by hand: the program allocates more than it needs, and keeps a pointer to the first
// aligned place after its own header, but none to the start. Private to scan/.
#pragma once
#include <cstdint>

#include "capture/scan/interior_pointers.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Whether a pointer into the block's middle leads to such a place, and is unlikely to be a coincidence: few words of a
// block are. A program variable is stronger evidence than a word of another block.
constexpr bool is_to_aligned_place(const model::ScannedBlock& held, uint64_t offset, bool is_variable) {
  constexpr uint64_t kGivenAlignment = 16;  // malloc's own alignment
  constexpr uint64_t kLeastAlignment = 64;  // a cache line
  constexpr uint64_t kLargestAlignment = 4096;
  constexpr uint64_t kMaxRemembered = 64;  // bytes of header: the start, a size, a magic number
  constexpr uint64_t kLeastBytes = 1024;
  constexpr uint64_t kLeastOfVariable = 4096;  // from this size on, smaller alignments are accepted too
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

// Sets kAligned for such interior pointers without another explanation.
void mark_aligned_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots);

}  // namespace heaptap::scan
