// Memory of a table's segments: slots of 64 KiB of address space, of which a segment touches the pages that it needs. What
// is given back goes to the kernel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

namespace heaptap::ingest {

class SegmentMemory {
 public:
  static constexpr size_t kSlotBytes = size_t{64} * 1024;
  static constexpr size_t kPageBytes = 4096;  // the unit that is given back; a kernel with larger pages may keep it

  SegmentMemory() = default;
  SegmentMemory(const SegmentMemory&) = delete;
  SegmentMemory& operator=(const SegmentMemory&) = delete;
  ~SegmentMemory();

  // A slot, aligned to a page. Its contents are anything. Throws std::bad_alloc.
  void* take();
  void give_back(void* slot);
  // The pages between these offsets aren't needed now. May be used again, with any contents.
  static void give_back_pages(void* slot, size_t begin, size_t end);

 private:
  static constexpr size_t kSlots = 64;  // of a region: a mapping
  std::map<char*, uint64_t> regions_;   // start -> taken slots, a bit each
  std::set<char*> open_;                // regions with free slots
};

}  // namespace heaptap::ingest
