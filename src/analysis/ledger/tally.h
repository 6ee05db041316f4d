// Counters of the ledger: by site, by thread, and in total.
#pragma once
#include <cstdint>

#include "common/model/event.h"
#include "common/model/mapped_memory.h"

namespace heaptap::ledger {

// Counters of the blocks allocated (or mappings made) at one site: nearly every event changes one, so it is one cache line. Programs
// have hundreds of thousands of sites.
struct alignas(64) Tally {
  uint64_t allocations = 0;
  uint64_t releases = 0;  // of this site's blocks, no matter who released them
  uint64_t allocated_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;  // held at peak `peak_id`; valid once live_bytes has changed since
  uint64_t peak_id = 0;     // the process's peak for which peak_bytes was settled
  uint64_t temporary_allocations = 0;
  uint64_t first_threads = 0;  // bit n: thread n + 1 allocated here

  [[nodiscard]] uint64_t live_blocks() const { return allocations - releases; }

  // Bytes held at the process's last peak.
  [[nodiscard]] uint64_t peak_bytes_at(uint64_t current_peak_id) const {
    return peak_id == current_peak_id ? peak_bytes : live_bytes;
  }

  // Saves the bytes held at the last peak. To be called before live_bytes changes.
  void settle_peak(uint64_t current_peak_id) {
    if (peak_id != current_peak_id) {
      peak_bytes = live_bytes;
      peak_id = current_peak_id;
    }
  }
};
static_assert(sizeof(Tally) == 64);

// Sum of the lifetimes of a site's released blocks; saturates.
class LifetimeSum {
 public:
  void add(uint64_t nanoseconds, uint64_t blocks = 1) {
    uint64_t more = 0;
    if (__builtin_mul_overflow(nanoseconds, blocks, &more) || __builtin_add_overflow(nanoseconds_, more, &nanoseconds_))
        [[unlikely]] {
      nanoseconds_ = ~uint64_t{0};
    }
  }
  void take_back(uint64_t nanoseconds, uint64_t blocks) { nanoseconds_ -= nanoseconds * blocks; }
  [[nodiscard]] uint64_t nanoseconds() const { return nanoseconds_; }

 private:
  uint64_t nanoseconds_ = 0;
};

// Sum of the allocation times of a site's live blocks: 128 bits, since many blocks over days overflow 64.
class LiveSince {
 public:
  void add(uint64_t allocated_at_ns, uint64_t blocks = 1) { nanoseconds_ += Sum{allocated_at_ns} * blocks; }
  void remove(uint64_t allocated_at_ns, uint64_t blocks = 1) { nanoseconds_ -= Sum{allocated_at_ns} * blocks; }
  LiveSince& operator+=(const LiveSince& other) {
    nanoseconds_ += other.nanoseconds_;
    return *this;
  }
  // Mean over `blocks` blocks; 0 if there are none.
  [[nodiscard]] uint64_t mean_ns(uint64_t blocks) const {
    return blocks == 0 ? 0 : static_cast<uint64_t>(nanoseconds_ / blocks);
  }

 private:
  using Sum = unsigned __int128;
  Sum nanoseconds_ = 0;
};

// Times that allocations and releases update together, in one cache line.
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
  uint64_t peak_error_bytes = 0;  // the peaks are that much lower or higher at most
  uint64_t peak_error_blocks = 0;
  uint64_t peak_time_ns = 0;
  uint64_t mapped_live_bytes = 0;
  uint64_t peak_mapped_bytes = 0;
  model::MappedLevels mapped;     // mapped_live_bytes, by kind
  uint64_t pool_allocations = 0;  // in pools that the program reports
  uint64_t pool_live_blocks = 0;
  uint64_t pool_live_bytes = 0;
  uint64_t open_resources = 0;         // not memory
  uint64_t unknown_pool_releases = 0;  // of unknown blocks and resources
  uint64_t bad_releases = 0;           // never allocated, or into the middle of a block
  uint64_t double_releases = 0;
  uint64_t mismatched_releases = 0;
  uint64_t unknown_releases = 0;  // of blocks whose allocation wasn't seen
  uint64_t unseen_releases = 0;   // among `releases`: inferred, since the block's address was allocated again

  [[nodiscard]] uint64_t live_blocks() const { return allocations - releases; }
};

struct ThreadTally {
  uint64_t allocations = 0;
  uint64_t releases = 0;  // by this thread, of any thread's blocks
  uint64_t allocated_bytes = 0;
};

}  // namespace heaptap::ledger
