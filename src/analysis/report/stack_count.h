// Counts of a stack without its names, for clients that poll often and show little.
#pragma once
#include <cstdint>

#include "common/base/known.h"

namespace heaptap::report {

struct StackCount {
  uint64_t allocations = 0;
  base::Known<uint64_t> releases = 0;  // of this stack's blocks
  uint64_t allocated_bytes = 0;
  base::Known<uint64_t> live_blocks = 0;
  base::Known<uint64_t> live_bytes = 0;  // of a mapping: the program's own memory
  uint64_t reserved_bytes = 0;           // of a mapping: reserved only
  uint64_t temporary_allocations = 0;
  base::Known<uint64_t> lifetime_ns = 0;    // sum over its released blocks
  base::Known<uint64_t> live_since_ns = 0;  // mean allocation time of its live blocks
  uint64_t leaked_bytes = 0;                // definitely and indirectly lost; 0 without a scan
  uint64_t leaked_blocks = 0;
  bool mapping = false;
  bool pooled = false;
  void set_lifetimes_unknown() { base::set_unknown(lifetime_ns, live_since_ns); }
  void set_live_unknown() { base::set_unknown(releases, live_blocks, live_bytes); }
  bool operator==(const StackCount&) const = default;
};

}  // namespace heaptap::report
