// What the ledger counts: for each site, for each thread, and in total.
#pragma once
#include <cstdint>

#include "model/event.h"
#include "model/mapped_memory.h"

namespace heaptap::ledger {

// Of the blocks that one site allocated (or the mappings that it made): what nearly every event changes, in one line of the
// processor's cache. Programs have hundreds of thousands of sites.
struct alignas(64) Tally {
  uint64_t allocations = 0;
  uint64_t releases = 0;  // of this site's blocks, whoever released them
  uint64_t allocated_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;  // held at that peak, once live_bytes has changed since
  uint64_t peak_id = 0;     // the last peak of the process for which this was looked at
  uint64_t temporary_allocations = 0;
  uint64_t first_threads = 0;  // bit n: thread n + 1 allocated here

  [[nodiscard]] uint64_t live_blocks() const { return allocations - releases; }

  // Held at the process's last peak.
  [[nodiscard]] uint64_t peak_bytes_at(uint64_t current_peak_id) const {
    return peak_id == current_peak_id ? peak_bytes : live_bytes;
  }

  // To be called before live_bytes changes: keeps what was held at the peak that has passed.
  void settle_peak(uint64_t current_peak_id) {
    if (peak_id != current_peak_id) {
      peak_bytes = live_bytes;
      peak_id = current_peak_id;
    }
  }
};
static_assert(sizeof(Tally) == 64);

// The sum of lifetimes of a site's released blocks; stays at its largest value rather than wrap around.
class LifetimeSum {
 public:
  void add(uint64_t nanoseconds) {
    if (__builtin_add_overflow(nanoseconds_, nanoseconds, &nanoseconds_)) [[unlikely]] {
      nanoseconds_ = ~uint64_t{0};
    }
  }
  void take_back(uint64_t nanoseconds) { nanoseconds_ -= nanoseconds; }
  [[nodiscard]] uint64_t nanoseconds() const { return nanoseconds_; }

 private:
  uint64_t nanoseconds_ = 0;
};

// When a site's live blocks were allocated, summed: exact, since times of many blocks over days don't fit 64 bits.
class LiveSince {
 public:
  void add(uint64_t allocated_at_ns) { nanoseconds_ += allocated_at_ns; }
  void remove(uint64_t allocated_at_ns) { nanoseconds_ -= allocated_at_ns; }
  LiveSince& operator+=(const LiveSince& other) {
    nanoseconds_ += other.nanoseconds_;
    return *this;
  }
  // Of so many blocks; 0 of none.
  [[nodiscard]] uint64_t mean_ns(uint64_t blocks) const {
    return blocks == 0 ? 0 : static_cast<uint64_t>(nanoseconds_ / blocks);
  }

 private:
  unsigned __int128 nanoseconds_ = 0;
};

// What a release and an allocation change together, in one line of the cache.
struct SiteTimes {
  LiveSince live;
  LifetimeSum lifetimes;
};

struct Totals {
  uint64_t allocations = 0;
  uint64_t releases = 0;
  uint64_t allocated_bytes = 0;
  uint64_t temporary_allocations = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_live_bytes = 0;
  uint64_t peak_live_blocks = 0;
  uint64_t peak_time_ns = 0;
  uint64_t mapped_live_bytes = 0;
  uint64_t peak_mapped_bytes = 0;
  model::MappedLevels mapped;     // what of that is what
  uint64_t pool_allocations = 0;  // that the program told of, in pools of its own
  uint64_t pool_live_blocks = 0;
  uint64_t pool_live_bytes = 0;
  uint64_t open_resources = 0;         // of other kinds than memory
  uint64_t unknown_pool_releases = 0;  // of blocks and resources that weren't known to be there
  uint64_t bad_releases = 0;           // never allocated, or into the middle of a block
  uint64_t double_releases = 0;
  uint64_t mismatched_releases = 0;
  uint64_t unknown_releases = 0;  // of blocks whose allocation wasn't seen
  uint64_t unseen_releases = 0;   // among `releases`: concluded, since the block's address was handed out again

  [[nodiscard]] uint64_t live_blocks() const { return allocations - releases; }
};

struct ThreadTally {
  uint64_t allocations = 0;
  uint64_t releases = 0;  // made by this thread, of whosever blocks
  uint64_t allocated_bytes = 0;
};

}  // namespace heaptap::ledger
