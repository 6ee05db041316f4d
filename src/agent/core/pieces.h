// Arena of small pieces that are never freed, cut from larger mappings. A process may have 65,530 mappings; with a
// mapping for each thread's small state, a program with many threads would exhaust them.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/kernel.h"

namespace heaptap::agent {

class Pieces {
 public:
  // Zeroed, and on cache lines of its own; null: there is no memory.
  void* take(size_t bytes) {
    const size_t whole = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    Region* region = region_.load(std::memory_order_acquire);
    for (;;) {
      if (region != nullptr) {
        const size_t at = region->used.fetch_add(whole, std::memory_order_relaxed);
        if (at + whole <= region->bytes) return reinterpret_cast<uint8_t*>(region) + at;
      }
      Region* next = make_region(whole);
      if (next == nullptr) return nullptr;
      next->before = region;
      // Another thread was faster: the rest of this region stays unused.
      if (region_.compare_exchange_strong(region, next, std::memory_order_acq_rel)) region = next;
    }
  }

  // For a new session in a forked child: abandons the current region. Calls take(start, bytes) for each mapping that
  // the pieces lie in.
  template <typename Take>
  void restart(const Take& take_region) {
    Region* region = region_.exchange(nullptr, std::memory_order_acq_rel);
    while (region != nullptr) {
      Region* const before = region->before;
      take_region(region, region->bytes);
      region = before;
    }
  }

 private:
  static constexpr size_t kAlignment = 128;  // two lines: the prefetcher takes them in pairs
  static constexpr size_t kRegionBytes = 1u << 20;
  struct alignas(kAlignment) Region {
    std::atomic<size_t> used;
    size_t bytes;
    Region* before;
  };

  static Region* make_region(size_t piece) {
    const size_t least = sizeof(Region) + piece;
    const size_t bytes = least > kRegionBytes ? least : kRegionBytes;
    auto* region = static_cast<Region*>(kernel::map_memory(bytes));
    if (region == nullptr) return nullptr;
    region->used.store(sizeof(Region), std::memory_order_relaxed);
    region->bytes = bytes;
    return region;
  }

  std::atomic<Region*> region_{nullptr};
};

extern Pieces g_pieces;

}  // namespace heaptap::agent
