// Sampling of blocks: of all allocated bytes some are chosen, at random distances of `sample_interval` on average, and a block is
// recorded if one of its bytes is. So a block of that many bytes is recorded with the probability 1 - e^(-bytes/interval), whatever was
// allocated before it; its weight is in common/model/sampling.h. Freestanding; agent and collector include it.
#pragma once
#include <stdint.h>

#include "common/wire/atomic_64.h"

namespace heaptap::wire {

inline constexpr uint64_t kMaxSampleInterval = uint64_t{1} << 40;

// Number of a block's bytes that may be chosen: one more than it has, or empty blocks would never be recorded.
constexpr uint64_t sampled_bytes(uint64_t size_bytes) { return size_bytes + 1; }

// Whether a block of this size is taken as recorded for certain: e^-45 is below what weights are computed with.
constexpr bool is_surely_sampled(uint64_t size_bytes, uint64_t interval) { return size_bytes / interval >= 45; }

// All calls of a thread, sampled or not. Only the thread writes them.
struct CallCounts {
  Atomic64 allocations;
  Atomic64 allocated_bytes;
  Atomic64 releases;

  void reset() {
    for (Atomic64* const count : {&allocations, &allocated_bytes, &releases})
      count->store(0, std::memory_order_relaxed);
  }
};

}  // namespace heaptap::wire
