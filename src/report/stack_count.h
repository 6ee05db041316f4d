// What a stack has in numbers, without its names: for those who look often, and show few.
#pragma once
#include <cstdint>

namespace heaptap::report {

struct StackCount {
  uint64_t allocations = 0;
  uint64_t releases = 0;  // of this stack's blocks
  uint64_t allocated_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;      // of a mapping what is memory of the program's own
  uint64_t reserved_bytes = 0;  // and what is only reserved
  uint64_t temporary_allocations = 0;
  uint64_t lifetime_ns = 0;    // of its blocks that were released, summed
  uint64_t live_since_ns = 0;  // when its live blocks were allocated, on average
  uint64_t leaked_bytes = 0;   // definitely and indirectly lost; 0 where no scan was looked at
  uint64_t leaked_blocks = 0;
  bool mapping = false;
  bool pooled = false;
  bool live_known = true;  // releases, live_blocks, live_bytes
  bool operator==(const StackCount&) const = default;
};

}  // namespace heaptap::report
