#include "analysis/query/entries.h"

#include <algorithm>
#include <functional>
#include <map>

#include "analysis/report/sample_bounds.h"
#include "common/base/hex_text.h"

namespace heaptap::query {

// No program survives so many releases of addresses that its allocator didn't return, or already took back: these
// blocks were allocated by functions that aren't intercepted. And if one block was released by such a function, others
// may have been allocated by them, also before that was seen.
bool has_unwatched_functions(const ledger::Totals& totals) {
  constexpr uint64_t kMany = 100;
  return totals.bad_releases + totals.double_releases >= kMany || totals.unseen_releases != 0;
}

report::Totals totals_of(const ledger::Ledger& ledger) {
  const ledger::Totals& totals = ledger.totals();
  const ledger::MissingData& gaps = ledger.gaps();
  const bool accuses = !has_unwatched_functions(totals);
  const uint64_t unwatched = accuses ? 0 : totals.bad_releases + totals.double_releases;
  uint64_t error_bytes = totals.peak_error_bytes;
  uint64_t error_blocks = totals.peak_error_blocks;
  if (ledger.sample_interval() != 0 && totals.peak_live_bytes != 0) {
    const report::Bounds bounds =
        report::bounds_of_peak(totals.peak_live_bytes, totals.allocated_bytes, ledger.sample_interval());
    error_bytes = std::max(totals.peak_live_bytes - bounds.low, bounds.high - totals.peak_live_bytes);
    const double part = static_cast<double>(error_bytes) / static_cast<double>(totals.peak_live_bytes);
    error_blocks = static_cast<uint64_t>(part * static_cast<double>(totals.peak_live_blocks));
  }
  return {.allocations = totals.allocations,
          .releases = {totals.releases, !gaps.live},
          .allocated_bytes = totals.allocated_bytes,
          .temporary_allocations = {totals.temporary_allocations, !gaps.temporary},
          .live_blocks = {totals.live_blocks(), !gaps.live},
          .live_bytes = {totals.live_bytes, !gaps.live},
          .peak_live_bytes = {totals.peak_live_bytes, !gaps.peak},
          .peak_live_blocks = {totals.peak_live_blocks, !gaps.peak},
          .sample_interval = ledger.sample_interval(),
          .peak_error_bytes = error_bytes,
          .peak_error_blocks = error_blocks,
          .mapped_live_bytes = totals.mapped_live_bytes,
          .peak_mapped_bytes = totals.peak_mapped_bytes,
          .mapped = totals.mapped,
          .pool_allocations = totals.pool_allocations,
          .pool_live_blocks = totals.pool_live_blocks,
          .pool_live_bytes = totals.pool_live_bytes,
          .open_resources = totals.open_resources,
          .unknown_pool_releases = totals.unknown_pool_releases,
          .bad_releases = {accuses ? totals.bad_releases : 0, !gaps.bad_releases},
          .double_releases = {accuses ? totals.double_releases : 0, !gaps.bad_releases},
          .mismatched_releases = totals.mismatched_releases,
          .unknown_releases = totals.unknown_releases + unwatched,
          .unseen_releases = totals.unseen_releases,
          .unwatched_releases = unwatched,
          .peak_time_ns = {totals.peak_time_ns, !gaps.events}};
}

report::Totals totals_of(const report::Leaks& leaks) {
  report::BlockCount live = leaks.definite;
  for (const report::BlockCount& more :
       {leaks.indirect, leaks.possible, leaks.reachable, leaks.suppressed, leaks.ignored, leaks.unknown})
    live += more;
  report::Totals totals;
  totals.live_blocks = live.blocks;
  totals.live_bytes = live.bytes;
  totals.set_calls_unknown();
  totals.set_peak_unknown();
  totals.set_bad_frees_unknown();
  base::set_unknown(totals.peak_time_ns, totals.temporary_allocations);
  return totals;
}

report::Sizes sizes_of(const ledger::Ledger& ledger) {
  report::Sizes sizes{.classes = {}, .top = {}, .uncounted_allocations = ledger.sizes().uncounted_allocations()};
  for (const ledger::SizeClassCount& count : ledger.sizes().classes()) {
    sizes.classes.push_back({.lowest = count.lowest,
                             .highest = count.highest,
                             .allocations = count.allocations,
                             .allocated_bytes = count.allocated_bytes,
                             .live_blocks = count.live_blocks,
                             .live_bytes = count.live_bytes});
  }
  for (const ledger::SizeTally::Exact& exact : ledger.sizes().exact()) {
    sizes.top.push_back({.size_bytes = exact.size_bytes,
                         .allocations = exact.count.allocations,
                         .live_blocks = exact.count.live_blocks});
  }
  std::ranges::stable_sort(sizes.top, std::greater<>(), &report::ExactSize::allocations);
  return sizes;
}

std::vector<report::LifetimeClass> lifetimes_of(const ledger::Ledger& ledger) {
  std::vector<report::LifetimeClass> lifetimes;
  for (const ledger::LifetimeCount& count : ledger.lifetimes().classes()) {
    lifetimes.push_back(
        {.lowest_ns = count.lowest_ns, .highest_ns = count.limit_ns, .blocks = count.blocks, .bytes = count.bytes});
  }
  return lifetimes;
}

std::vector<report::TimelinePoint> timeline_of(const ledger::Ledger& ledger) {
  std::vector<report::TimelinePoint> points;
  const ledger::Timeline& timeline = ledger.timeline();
  ledger::TimelineState before;
  const bool are_kinds_known = ledger.totals().mapped.are_known();
  for (const ledger::TimelineBin& bin : ledger.timeline_bins()) {
    points.push_back({.time_ns = timeline.start_ns() + (points.size() + 1) * timeline.width_ns(),
                      .live_bytes = bin.at_end.live_bytes,
                      .live_blocks = bin.at_end.live_blocks,
                      .peak_live_bytes = bin.peak_live_bytes,
                      .allocations = bin.at_end.allocations - before.allocations,
                      .releases = bin.at_end.releases - before.releases,
                      .mapped_bytes = bin.at_end.mapped_bytes,
                      .mapped_memory_bytes = {bin.at_end.mapped_memory_bytes, are_kinds_known}});
    before = bin.at_end;
  }
  return points;
}

std::vector<report::ThreadEntry> threads_of(const ledger::Ledger& ledger, const model::Tables& tables) {
  std::vector<report::ThreadEntry> threads;
  const std::vector<ledger::ThreadTally>& tallies = ledger.thread_tallies();
  std::vector<const model::Thread*> named(tallies.size());
  for (const model::Thread& thread : tables.threads) {
    if (thread.number < named.size() && named[thread.number] == nullptr) {
      named[thread.number] = &thread;
    }
  }
  for (uint32_t number = 0; number < tallies.size(); ++number) {
    const ledger::ThreadTally& tally = tallies[number];
    if (tally.allocations == 0 && tally.releases == 0) {
      continue;
    }
    report::ThreadEntry entry{.number = number,
                              .kernel_id = 0,
                              .name = "",
                              .allocations = tally.allocations,
                              .releases = tally.releases,
                              .allocated_bytes = tally.allocated_bytes};
    if (const model::Thread* known = named[number]; known != nullptr) {
      entry.kernel_id = known->kernel_id;
      entry.name = known->name;
    }
    threads.push_back(std::move(entry));
  }
  return threads;
}

std::vector<report::ModuleEntry> modules_of(const model::Tables& tables) {
  std::map<std::string, std::string> build_ids;
  for (const model::Module& module : tables.modules) {
    if (module.path.empty()) continue;
    const auto [known, is_new] = build_ids.try_emplace(module.path, module.build_id);
    if (!is_new && known->second != module.build_id) known->second.clear();
  }
  std::vector<report::ModuleEntry> modules;
  for (const auto& [path, id] : build_ids) modules.push_back({path, base::hex_text(id)});
  return modules;
}

}  // namespace heaptap::query
