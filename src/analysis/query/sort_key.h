// Sort keys of the stack list.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/focus.h"
#include "analysis/report/report.h"
#include "common/base/result.h"

namespace heaptap::query {

enum class SortKey {
  kAllocations,  // number of allocations
  kAverage,      // bytes per allocation
  kBadFrees,     // bad releases of its blocks
  kGrowth,       // difference of live memory between a window's end and its start; live bytes without a window
  kLeakedBytes,  // definitely lost bytes; live bytes without a scan
  kLeaks,        // the same in blocks
  kMismatched,
  kPeak,       // bytes held at the process's peak
  kStacks,     // in order of first occurrence
  kTemporary,  // number of temporary allocations
  kTotal,      // allocated bytes
  kTime,       // summed lifetimes of its blocks
  kUsage,      // live bytes, then allocated bytes
};

// A key or a unique prefix of one.
base::Result<SortKey> parse_sort_key(std::string_view text);
std::string_view name_of(SortKey key);
SortKey sort_of(report::Focus focus);
std::vector<std::string> sort_key_names();

// Sort position of a stack: smaller comes first. Largest figure first, then by id, so that the order is deterministic.
struct SortPlace {
  uint64_t first = 0;  // complements of the figures
  uint64_t second = 0;
  uint64_t id = 0;
  auto operator<=>(const SortPlace&) const = default;
};
SortPlace place_of(const report::StackEntry& stack, SortKey key);

}  // namespace heaptap::query
