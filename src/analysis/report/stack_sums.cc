#include "analysis/report/stack_sums.h"

namespace heaptap::report {
namespace {

bool is_same(const NamedRoot& a, const NamedRoot& b) {
  return a.name == b.name && a.file == b.file && a.line == b.line && a.module == b.module;
}

// Of two variables the one that held more.
void add_exit_holder(StackLeaks& sum, const StackLeaks& part) {
  if (!part.exit_holder) return;
  if (sum.exit_holder && is_same(sum.exit_holder->variable, part.exit_holder->variable)) {
    sum.exit_holder->held += part.exit_holder->held;
  } else if (!sum.exit_holder || sum.exit_holder->held.bytes < part.exit_holder->held.bytes) {
    sum.exit_holder = part.exit_holder;
  }
}

void add_leaks(StackLeaks& sum, const StackLeaks& part) {
  const bool differ = sum.held_by != 0 && part.held_by != 0 && sum.held_by != part.held_by;
  sum += part;
  sum.has_more_holders = sum.has_more_holders || part.has_more_holders || differ;
  if (sum.held_by == 0) sum.held_by = part.held_by;
  add_exit_holder(sum, part);
}

}  // namespace

void add_mapped(StackEntry& sum, const model::MappedBytes& bytes, uint64_t peak_bytes) {
  if (peak_bytes == 0 && bytes == model::MappedBytes{}) return;
  RareFacts& facts = sum.rare.edit();
  for (size_t kind = 0; kind < bytes.size(); ++kind) facts.mapped[kind] += bytes[kind];
  facts.mapped_peak_bytes += peak_bytes;
}

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
  if (part.rare.is_set()) add_mapped(sum, part.rare->mapped, part.rare->mapped_peak_bytes);
  if (!sum.leaks)
    sum.leaks = part.leaks;
  else if (part.leaks && part.leaks.found_blocks())
    add_leaks(sum.leaks.edit(), *part.leaks);
  if (sum.growth && part.growth) {
    sum.growth->blocks += part.growth->blocks;
    sum.growth->bytes += part.growth->bytes;
  }
  sum.threads_known = sum.threads_known && part.threads_known;
}

}  // namespace heaptap::report
