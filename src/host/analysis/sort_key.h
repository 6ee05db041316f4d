// By what the stacks of a report are sorted.
#pragma once
#include <string>
#include <string_view>

#include "host/base/result.h"
#include "host/report/report.h"

namespace heaptap::analysis {

enum class SortKey {
  kAllocations,  // number of allocations
  kAverage,      // bytes an allocation
  kBadFrees,     // releases of its blocks that should not have been made
  kLeakedBytes,  // definitely lost bytes; live ones where no scan was made
  kLeaks,        // the same in blocks
  kMismatched,
  kStacks,  // in order of first occurrence
  kTotal,   // allocated bytes
  kTime,    // how long its blocks lived, summed
  kUsage,   // live bytes, then allocated bytes
};

// A key or a unique prefix of one.
base::Result<SortKey> parse_sort_key(std::string_view text);
std::string_view name_of(SortKey key);

// Largest first, then by id: the same stacks always come in the same order.
void sort_stacks(std::vector<report::StackEntry>& stacks, SortKey key);

}  // namespace heaptap::analysis
