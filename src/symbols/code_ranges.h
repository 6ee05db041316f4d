// Which link-time addresses of a file have code. Private to symbols/.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/address_range.h"

namespace heaptap::symbols {

// What of a file can be executed. Debug information also speaks of functions that the linker threw away; their addresses
// are 0, 1 or -1, so nowhere in here.
class CodeRanges {
 public:
  CodeRanges() = default;
  explicit CodeRanges(std::vector<base::AddressRange> ranges) : ranges_(std::move(ranges)) {}

  // The part of `range` that lies in the code range where it begins; empty where it begins outside.
  [[nodiscard]] base::AddressRange clip(base::AddressRange range) const {
    for (const base::AddressRange& each : ranges_) {
      if (range.begin >= each.begin && range.begin < each.end) return {range.begin, std::min(range.end, each.end)};
    }
    return {};
  }

  [[nodiscard]] CodeRanges moved_down(uint64_t distance) const {
    CodeRanges moved = *this;
    for (base::AddressRange& each : moved.ranges_) each = {each.begin - distance, each.end - distance};
    return moved;
  }

 private:
  std::vector<base::AddressRange> ranges_;
};

}  // namespace heaptap::symbols
