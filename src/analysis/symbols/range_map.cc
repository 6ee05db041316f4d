#include "analysis/symbols/range_map.h"

#include <algorithm>
#include <limits>

namespace heaptap::symbols {
namespace {

constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max();

bool opens_earlier(const RangeMap::Range& a, const RangeMap::Range& b) {
  if (a.begin != b.begin) return a.begin < b.begin;
  if (a.end != b.end) return a.end > b.end;
  return a.depth < b.depth;
}

// Most lists are sorted by start: then only those with the same start are left to sort.
void sort_ranges(std::vector<RangeMap::Range>& ranges) {
  if (!std::ranges::is_sorted(ranges, {}, &RangeMap::Range::begin)) {
    std::stable_sort(ranges.begin(), ranges.end(), opens_earlier);
    return;
  }
  for (auto first = ranges.begin(); first != ranges.end();) {
    auto last = first + 1;
    while (last != ranges.end() && last->begin == first->begin) ++last;
    if (last - first > 1) std::stable_sort(first, last, opens_earlier);
    first = last;
  }
}

}  // namespace

// Sweeps over the addresses with a stack of the ranges that are open.
RangeMap::RangeMap(std::vector<Range> ranges) {
  std::erase_if(ranges, [](const Range& range) { return range.end <= range.begin; });
  sort_ranges(ranges);
  pieces_.reserve(ranges.size() + 1);
  std::vector<Range> open;
  auto close_up_to = [&](uint64_t address) {
    while (!open.empty() && open.back().end <= address) {
      const uint64_t end = open.back().end;
      while (!open.empty() && open.back().end <= end) open.pop_back();
      append(end, open.empty() ? kNothing : open.back().value);
    }
  };
  for (const Range& range : ranges) {
    close_up_to(range.begin);
    open.push_back(range);
    append(range.begin, range.value);
  }
  close_up_to(std::numeric_limits<uint64_t>::max());
  pieces_.shrink_to_fit();
}

void RangeMap::append(uint64_t begin, uint32_t value) {
  if (!pieces_.empty() && pieces_.back().begin == begin) pieces_.pop_back();
  if (pieces_.empty() || pieces_.back().value != value) pieces_.push_back({.begin = begin, .value = value});
}

std::optional<uint32_t> RangeMap::find(uint64_t address) const {
  auto next = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                               [](uint64_t wanted, const Piece& piece) { return wanted < piece.begin; });
  if (next == pieces_.begin()) return std::nullopt;
  const uint32_t value = std::prev(next)->value;
  return value == kNothing ? std::nullopt : std::optional(value);
}

}  // namespace heaptap::symbols
