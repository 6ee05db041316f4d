#include "analysis/report/stack_sums.h"

namespace heaptap::report {
namespace {

void add_leaks(StackLeaks& sum, const StackLeaks& part) {
  const bool differ = sum.held_by != 0 && part.held_by != 0 && sum.held_by != part.held_by;
  sum += part;
  sum.has_more_holders = sum.has_more_holders || part.has_more_holders || differ;
  if (sum.held_by == 0) sum.held_by = part.held_by;
}

}  // namespace

void add_figures(StackEntry& sum, const StackEntry& part) {
  sum.allocations += part.allocations;
  sum.releases += part.releases;
  sum.allocated_bytes += part.allocated_bytes;
  sum.live_blocks += part.live_blocks;
  sum.live_bytes += part.live_bytes;
  sum.peak_bytes += part.peak_bytes;
  sum.temporary_allocations += part.temporary_allocations;
  sum.mismatched_releases += part.mismatched_releases;
  sum.lifetime_ns += part.lifetime_ns;
  for (size_t kind = 0; kind < model::kMappedKinds; ++kind) sum.mapped[kind] += part.mapped[kind];
  if (sum.leaks && part.leaks)
    add_leaks(*sum.leaks, *part.leaks);
  else if (part.leaks)
    sum.leaks = part.leaks;
  if (sum.growth && part.growth) {
    sum.growth->blocks += part.growth->blocks;
    sum.growth->bytes += part.growth->bytes;
  }
  sum.threads_known = sum.threads_known && part.threads_known;
}

}  // namespace heaptap::report
