// Totals per site, as --aggregate keeps them: what a trace has in place of the events of blocks. Numbers only.
#pragma once
#include <cstdint>
#include <vector>

#include "model/event.h"

namespace heaptap::model {

// What one thread allocated at one site.
struct SiteTotals {
  SiteId site = 0;
  ThreadId thread = 0;  // 0: one of those that had no entry of their own
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t releases = 0;  // of these blocks, by whomever
  uint64_t released_bytes = 0;
  uint64_t temporary = 0;
  uint64_t mismatched = 0;
  uint64_t unkept_blocks = 0;  // their releases were not seen
};

struct ThreadReleases {
  ThreadId thread = 0;
  uint64_t releases = 0;  // made by it
};

// How many blocks of one size are alive.
struct LiveSize {
  uint64_t size_bytes = 0;
  uint64_t blocks = 0;
};

struct Totals {
  uint64_t time_ns = 0;  // when they were read, since the start of the capture
  uint64_t peak_bytes = 0;
  uint64_t peak_blocks = 0;
  uint64_t double_releases = 0;
  uint64_t bad_releases = 0;
  uint64_t unclear_releases = 0;  // double or bad
  uint64_t unknown_releases = 0;
  uint64_t unclear_temporary = 0;
  std::vector<SiteTotals> sites;
  std::vector<ThreadReleases> threads;
  std::vector<LiveSize> live_sizes;  // ascending by size
};

}  // namespace heaptap::model
