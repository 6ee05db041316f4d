#include "analysis/report/leak_weight.h"

#include <algorithm>

namespace heaptap::report {
namespace {

// A leak below a hundredth of the peak doesn't explain a program's memory.
constexpr uint64_t kPeakOverWeight = 100;
// Leaks that are a fifth of what is left, or less, don't explain it.
constexpr uint64_t kReachableOverLost = 4;
// Of a program that holds less nobody asks who holds it.
constexpr uint64_t kLeastReachableBytes = 128 << 10;

}  // namespace

uint64_t lost_or_possibly(const Leaks& leaks) {
  return leaks.definite.bytes + leaks.indirect.bytes + leaks.possible.bytes + lost_in_pools(leaks).bytes +
         leaks.pools.possible.bytes;
}

uint64_t kept_by_libraries(const Leaks& leaks) {
  uint64_t bytes = 0;
  for (const KeptByLibrary& kept : leaks.kept_by_libraries) bytes += kept.reachable.bytes + kept.possible.bytes;
  return bytes;
}

bool is_of_weight(const Totals& totals, const Leaks& leaks, uint64_t bytes) {
  const auto peak = totals.peak_live_bytes.if_known();
  if (!peak) return true;
  const uint64_t mapped = totals.mapped.are_known() ? totals.mapped.memory.peak_bytes : 0;
  return bytes >= (*peak - std::min(*peak, kept_by_libraries(leaks)) + mapped) / kPeakOverWeight;
}

bool leaks_weigh(const Totals& totals, const Leaks& leaks) {
  return leaks_at_all(leaks) && is_of_weight(totals, leaks, lost_or_possibly(leaks));
}

bool leaks_lead(const Totals& totals, const Leaks& leaks) {
  return leaks.scanned && (leaks_for_certain(leaks) || leaks_weigh(totals, leaks));
}

bool reachable_outweighs(const Totals& totals, const Leaks& leaks) {
  if (!leaks_lead(totals, leaks)) return false;
  uint64_t kept = 0;
  for (const KeptByLibrary& library : leaks.kept_by_libraries) kept += library.reachable.bytes;
  const uint64_t programs = leaks.reachable.bytes - std::min(leaks.reachable.bytes, kept);
  return programs >= kLeastReachableBytes && programs / kReachableOverLost > lost_or_possibly(leaks);
}

}  // namespace heaptap::report
