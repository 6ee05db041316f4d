// What the processes of a recording did together.
#pragma once
#include <cstdint>
#include <vector>

#include "report/report.h"

namespace heaptap::report {

struct ProcessSums {
  uint64_t failed = 0;     // that couldn't be read
  uint64_t unscanned = 0;  // whose leaks aren't known, but for those that became another program
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  BlockCount definite;
  BlockCount indirect;
  BlockCount possible;
  uint64_t bad_releases = 0;
  uint64_t double_releases = 0;
  uint64_t mismatched_releases = 0;
  uint64_t lost_events = 0;

  [[nodiscard]] uint64_t errors() const { return bad_releases + double_releases + mismatched_releases; }
};

ProcessSums sum_of(const std::vector<ProcessEntry>& processes);

}  // namespace heaptap::report
