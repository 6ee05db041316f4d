#include "analysis/findings/verdict.h"

namespace heaptap::findings {

report::BlockCount share_of(report::LimitKind kind, bool possible_counts, const report::StackEntry& stack) {
  switch (kind) {
    case report::LimitKind::kLeaked: {
      report::BlockCount share = stack.leaks ? stack.leaks->lost() : report::BlockCount{};
      if (possible_counts && stack.leaks) share += stack.leaks->possible;
      return share;
    }
    case report::LimitKind::kPeak:
      return {0, stack.peak_bytes.counted()};
    case report::LimitKind::kLive:
      return {stack.live_blocks.counted(), stack.live_bytes.counted()};
    case report::LimitKind::kAllocations:
      break;
  }
  return {stack.allocations.counted(), 0};
}

}  // namespace heaptap::findings
