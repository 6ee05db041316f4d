// Limits of `heaptap check --max-growth`.
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/report/certainty.h"

namespace heaptap::report {

// Maximum growth of a figure.
struct GrowthLimit {
  LimitKind kind = LimitKind::kLeaked;
  bool each_stack = false;             // applies to each stack alone
  uint64_t most = 0;                   // bytes, or allocations
  std::optional<double> percent = {};  // instead of `most`: of the baseline's total
};

}  // namespace heaptap::report
