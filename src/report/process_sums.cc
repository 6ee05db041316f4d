#include "report/process_sums.h"

namespace heaptap::report {

ProcessSums sum_of(const std::vector<ProcessEntry>& processes) {
  ProcessSums sums;
  for (const ProcessEntry& process : processes) {
    if (!process.failure.empty()) {
      ++sums.failed;
      continue;
    }
    const Totals& totals = process.totals;
    sums.allocations += totals.allocations;
    sums.allocated_bytes += totals.allocated_bytes;
    sums.bad_releases += totals.bad_releases;
    sums.double_releases += totals.double_releases;
    sums.mismatched_releases += totals.mismatched_releases;
    sums.lost_events += process.capture.lost_events;
    if (!process.leaks.scanned) {
      if (!process.capture.executed) ++sums.unscanned;
      continue;
    }
    sums.definite += process.leaks.definite;
    sums.indirect += process.leaks.indirect;
    sums.possible += process.leaks.possible;
  }
  return sums;
}

}  // namespace heaptap::report
