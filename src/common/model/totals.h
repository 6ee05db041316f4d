// Totals per site, made by --aggregate: stored in a trace in place of block events. Numbers only.
#pragma once
#include <cstdint>
#include <vector>

#include "common/model/event.h"

namespace heaptap::model {

// Allocations of one thread at one site.
struct SiteTotals {
  SiteId site = 0;
  ThreadId thread = 0;  // 0: a thread without its own entry
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t releases = 0;  // of these blocks, by any thread
  uint64_t released_bytes = 0;
  uint64_t temporary = 0;
  uint64_t mismatched = 0;
  uint64_t unkept_blocks = 0;  // their releases were not seen
};

struct ThreadReleases {
  ThreadId thread = 0;
  uint64_t releases = 0;  // made by this thread
};

// Number of live blocks of one size.
struct LiveSize {
  uint64_t size_bytes = 0;
  uint64_t blocks = 0;
};

struct Totals {
  uint64_t time_ns = 0;  // time of reading, since the start of the capture
  uint64_t peak_bytes = 0;
  uint64_t peak_blocks = 0;
  uint64_t peak_error_bytes = 0;  // the peak is that much lower or higher at most
  uint64_t peak_error_blocks = 0;
  uint64_t double_releases = 0;
  uint64_t bad_releases = 0;
  uint64_t unclear_releases = 0;  // either double or bad
  uint64_t unknown_releases = 0;
  uint64_t unclear_temporary = 0;
  std::vector<SiteTotals> sites;
  std::vector<ThreadReleases> threads;
  std::vector<LiveSize> live_sizes;  // ascending by size
};

}  // namespace heaptap::model
