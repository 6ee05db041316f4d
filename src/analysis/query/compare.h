// Comparison of two or more reports: matches their stacks and computes each one's change.
#pragma once
#include <cstdint>
#include <memory>
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

// Incremental comparison, one report after the other, so that they are never in memory together: of the earlier ones it has the stacks
// that were matched. `at_ns` as in ComparedReport.
class Comparer {
 public:
  explicit Comparer(const CompareOptions& options);
  ~Comparer();
  Comparer(const Comparer&) = delete;
  Comparer& operator=(const Comparer&) = delete;

  void add(const report::Report& report, std::optional<uint64_t> at_ns);
  void add(report::Report&& report, std::optional<uint64_t> at_ns);
  [[nodiscard]] report::Comparison finish() &&;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

report::Comparison compare(const std::vector<ComparedReport>& reports, const CompareOptions& options);

}  // namespace heaptap::query
