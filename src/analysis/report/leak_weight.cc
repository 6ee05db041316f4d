#include "analysis/report/leak_weight.h"

#include <algorithm>

namespace heaptap::report {
namespace {

// A leak below a hundredth of the peak doesn't explain a program's memory.
constexpr uint64_t kPeakOverWeight = 100;

}  // namespace

uint64_t kept_by_libraries(const Leaks& leaks) {
  uint64_t bytes = 0;
  for (const KeptByLibrary& kept : leaks.kept_by_libraries) bytes += kept.reachable.bytes + kept.possible.bytes;
  return bytes;
}

bool is_of_weight(const Totals& totals, const Leaks& leaks, uint64_t bytes) {
  const auto peak = totals.peak_live_bytes.if_known();
  if (!peak) return true;
  return bytes >= (*peak - std::min(*peak, kept_by_libraries(leaks))) / kPeakOverWeight;
}

bool leaks_weigh(const Totals& totals, const Leaks& leaks) {
  const uint64_t bytes = leaks.definite.bytes + leaks.indirect.bytes + leaks.possible.bytes +
                         lost_in_pools(leaks).bytes + leaks.pools.possible.bytes;
  return leaks_at_all(leaks) && is_of_weight(totals, leaks, bytes);
}

bool leaks_lead(const Totals& totals, const Leaks& leaks) {
  return leaks.scanned && (leaks_for_certain(leaks) || leaks_weigh(totals, leaks));
}

}  // namespace heaptap::report
