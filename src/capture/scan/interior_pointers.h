// Offsets of pointers into the middle of blocks, while a scan is resolved. Private to scan/.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heaptap::scan {

// Offsets in their blocks of pointers of kind kInterior. Several words that count as one pointer are represented by the
// lowest offset, since memory after a header may be pointed into as well.
class InteriorPointers {
 public:
  struct Entry {
    uint32_t pointer;  // index into the scan's pointers, or into its roots
    uint32_t offset;
  };

  // Pointers must ascend.
  void add(size_t pointer, uint64_t offset) { entries_.push_back({static_cast<uint32_t>(pointer), limited(offset)}); }
  // Adds another word of an added pointer.
  void lower(uint32_t pointer, uint64_t offset) {
    const auto entry = std::ranges::lower_bound(entries_, pointer, {}, &Entry::pointer);
    if (entry != entries_.end() && entry->pointer == pointer) entry->offset = std::min(entry->offset, limited(offset));
  }
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }

 private:
  static uint32_t limited(uint64_t offset) { return static_cast<uint32_t>(std::min<uint64_t>(offset, 0xffffffff)); }

  std::vector<Entry> entries_;
};

}  // namespace heaptap::scan
