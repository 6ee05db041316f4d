// The Ledger's handling of totals, which replace events.
#include "analysis/ledger/ledger.h"

namespace heaptap::ledger {

// The last totals of a trace, after all of its events.
void Ledger::add_totals(const model::Totals& totals, const model::Tables& tables) {
  learn(tables);
  site_gaps_.resize(facts_.size());
  gaps_.events = true;
  bool is_whole = filter_.thread == 0;
  for (const model::SiteTotals& entry : totals.sites) {
    if (!facts_[entry.site].wanted) {
      is_whole = false;
    } else if (filter_.thread == 0 || filter_.thread == entry.thread) {
      add_site(entry);
    }
  }
  gaps_.peak = gaps_.live || !is_whole;
  gaps_.temporary = gaps_.temporary || totals.unclear_temporary != 0;
  gaps_.bad_releases = gaps_.bad_releases || totals.unclear_releases != 0 || !is_whole;
  gaps_.sizes = gaps_.live || !is_whole;
  totals_.peak_live_bytes = std::max(totals.peak_bytes, totals_.live_bytes);
  totals_.peak_live_blocks = std::max(totals.peak_blocks, totals_.live_blocks());
  totals_.peak_error_bytes = totals.peak_error_bytes;
  totals_.peak_error_blocks = totals.peak_error_blocks;
  totals_.double_releases = totals.double_releases;
  totals_.bad_releases = totals.bad_releases;
  totals_.unknown_releases = totals.unknown_releases;
  for (const model::ThreadReleases& entry : totals.threads) {
    if (filter_.thread == 0 || filter_.thread == entry.thread) thread_tally(entry.thread).releases = entry.releases;
  }
  for (const model::LiveSize& entry : totals.live_sizes) sizes_.add_live(entry.size_bytes, entry.blocks);
}

void Ledger::add_site(const model::SiteTotals& entry) {
  Tally& tally = tallies_[entry.site];
  tally.allocations += entry.allocations;
  tally.releases += entry.releases;
  tally.allocated_bytes += entry.allocated_bytes;
  tally.live_bytes += entry.allocated_bytes - entry.released_bytes;
  tally.temporary_allocations += entry.temporary;
  if (entry.mismatched != 0) mismatched_frees_[entry.site] += entry.mismatched;
  ThreadTally& by_thread = thread_tally(entry.thread);
  by_thread.allocations += entry.allocations;
  by_thread.allocated_bytes += entry.allocated_bytes;
  totals_.allocations += entry.allocations;
  totals_.releases += entry.releases;
  totals_.allocated_bytes += entry.allocated_bytes;
  totals_.live_bytes += entry.allocated_bytes - entry.released_bytes;
  totals_.temporary_allocations += entry.temporary;
  totals_.mismatched_releases += entry.mismatched;
  SiteMissingData& gaps = site_gaps_[entry.site];
  if (entry.thread == 0) {
    gaps.threads = true;
  } else {
    note_thread(tally, {.site = entry.site, .thread = entry.thread, .size_or_block = 0, .address = 0});
  }
  gaps.live = gaps.live || entry.unkept_blocks != 0;
  gaps_.live = gaps_.live || entry.unkept_blocks != 0;
}

ThreadTally& Ledger::thread_tally(model::ThreadId thread) {
  if (thread >= thread_tallies_.size()) thread_tallies_.resize(size_t{thread} + 1);
  return thread_tallies_[thread];
}

}  // namespace heaptap::ledger
