// Executable link-time address ranges of a file. Private to symbols/.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::symbols {

// Executable parts of a file. Debug information also describes functions that the linker discarded; their addresses are 0, 1 or -1
// and so outside of all ranges.
class CodeRanges {
 public:
  CodeRanges() = default;
  explicit CodeRanges(std::vector<base::AddressRange> ranges) : ranges_(std::move(ranges)) {}

  // The part of `range` in the code range that contains its start; empty if its start is outside.
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
