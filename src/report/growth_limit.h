// What `heaptap check --max-growth` allows.
#pragma once
#include <cstdint>
#include <optional>

#include "report/certainty.h"

namespace heaptap::report {

// The most that a figure may grow by.
struct GrowthLimit {
  LimitKind kind = LimitKind::kLeaked;
  bool each_stack = false;             // no single stack may grow by more
  uint64_t most = 0;                   // bytes, or allocations
  std::optional<double> percent = {};  // instead: of the baseline's total
};

}  // namespace heaptap::report
