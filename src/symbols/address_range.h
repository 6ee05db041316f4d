// A range of link-time addresses. Private to symbols/.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace heaptap::symbols {

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // the first address behind it
};

// What of a file can be executed. Debug information also speaks of functions that the linker threw away; their addresses
// are 0, 1 or -1, so nowhere in here.
class CodeRanges {
 public:
  CodeRanges() = default;
  explicit CodeRanges(std::vector<AddressRange> ranges) : ranges_(std::move(ranges)) {}

  // The part of `range` that lies in the code range where it begins; empty where it begins outside.
  [[nodiscard]] AddressRange clip(AddressRange range) const {
    for (const AddressRange& each : ranges_) {
      if (range.begin >= each.begin && range.begin < each.end) return {range.begin, std::min(range.end, each.end)};
    }
    return {};
  }

  [[nodiscard]] CodeRanges moved_down(uint64_t distance) const {
    CodeRanges moved = *this;
    for (AddressRange& each : moved.ranges_) each = {each.begin - distance, each.end - distance};
    return moved;
  }

 private:
  std::vector<AddressRange> ranges_;
};

}  // namespace heaptap::symbols
