// By what the stacks of a report are sorted.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace heaptap::analysis {

enum class SortKey {
  kAllocations,  // number of allocations
  kAverage,      // bytes an allocation
  kBadFrees,     // releases of its blocks that should not have been made
  kGrowth,  // how much more of its blocks is live at a window's end than at its beginning; live bytes where there is none
  kLeakedBytes,  // definitely lost bytes; live ones where no scan was made
  kLeaks,        // the same in blocks
  kMismatched,
  kPeak,    // bytes held at the process's peak
  kStacks,  // in order of first occurrence
  kTotal,   // allocated bytes
  kTime,    // how long its blocks lived, summed
  kUsage,   // live bytes, then allocated bytes
};

// A key or a unique prefix of one.
base::Result<SortKey> parse_sort_key(std::string_view text);
std::string_view name_of(SortKey key);
std::vector<std::string> sort_key_names();

// What decides a stack's place in a list: the smaller one comes first. Largest first, then by id: the same stacks always
// come in the same order.
struct SortPlace {
  uint64_t first = 0;  // complements of what is compared
  uint64_t second = 0;
  uint64_t id = 0;
  auto operator<=>(const SortPlace&) const = default;
};
SortPlace place_of(const report::StackEntry& stack, SortKey key);

}  // namespace heaptap::analysis
