// From two or more reports to a Comparison: matches their stacks, and says what became of each.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "report/comparison.h"

namespace heaptap::analysis {

struct ComparedReport {
  const report::Report* report = nullptr;  // with all of its stacks, and all of their frames
  std::optional<uint64_t> at_ns = {};      // the moment that it is of
};

struct CompareOptions {
  report::Figure sort = report::Figure::kLiveBytes;
  // What changed by less isn't listed. Of a count it is the change of the allocated bytes that has to reach `min_bytes`.
  uint64_t min_bytes = 0;
  double min_percent = 0;   // of the larger total
  bool unchanged = false;   // list what didn't change in any figure, too
  bool same_trace = false;  // stacks with the same number are one
};

report::Comparison compare(const std::vector<ComparedReport>& reports, const CompareOptions& options);

}  // namespace heaptap::analysis
