#include "record/ingest/segment_memory.h"

#include <sys/mman.h>

#include <bit>
#include <iterator>
#include <new>

namespace heaptap::ingest {

SegmentMemory::~SegmentMemory() {
  for (const auto& [start, taken] : regions_) munmap(start, kSlots * kSlotBytes);
}

void* SegmentMemory::take() {
  if (open_.empty()) {
    void* memory =
        mmap(nullptr, kSlots * kSlotBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    // A huge page would fill what segments leave free; where it can't be refused there are none.
    madvise(memory, kSlots * kSlotBytes, MADV_NOHUGEPAGE);
    regions_[static_cast<char*>(memory)] = 0;
    open_.insert(static_cast<char*>(memory));
  }
  char* const start = *open_.begin();  // the lowest, so that others become empty
  uint64_t& taken = regions_[start];
  const auto slot = static_cast<size_t>(std::countr_one(taken));
  taken |= uint64_t{1} << slot;
  if (taken == UINT64_MAX) open_.erase(start);
  return start + slot * kSlotBytes;
}

void SegmentMemory::give_back(void* slot) {
  const auto region = std::prev(regions_.upper_bound(static_cast<char*>(slot)));
  char* const start = region->first;
  region->second &= ~(uint64_t{1} << (static_cast<size_t>(static_cast<char*>(slot) - start) / kSlotBytes));
  if (region->second != 0) {
    give_back_pages(slot, 0, kSlotBytes);
    open_.insert(start);
    return;
  }
  open_.erase(start);
  regions_.erase(region);
  munmap(start, kSlots * kSlotBytes);
}

void SegmentMemory::give_back_pages(void* slot, size_t begin, size_t end) {
  if (begin < end) madvise(static_cast<char*>(slot) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace heaptap::ingest
