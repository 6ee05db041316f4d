// Comparison of two or more reports: matches their stacks and computes each one's change.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/report/comparison.h"

namespace heaptap::query {

struct ComparedReport {
  const report::Report* report = nullptr;  // with all of its stacks, and all of their frames
  std::optional<uint64_t> at_ns = {};      // of the moment reported
};

struct CompareOptions {
  report::Figure sort = report::Figure::kLiveBytes;
  // Smaller changes aren't listed. A count is listed by the change of its allocated bytes.
  uint64_t min_bytes = 0;
  double min_percent = 0;   // of the larger total
  bool unchanged = false;   // list unchanged stacks too
  bool same_trace = false;  // stacks with equal numbers are the same
};

report::Comparison compare(const std::vector<ComparedReport>& reports, const CompareOptions& options);

}  // namespace heaptap::query
