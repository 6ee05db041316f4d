#include "capture/stream/totals_collector.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

namespace heaptap::stream {
namespace {

uint64_t now(const wire::Atomic64& counter) { return counter.load(std::memory_order_relaxed); }

// Releases are read first: each has its allocation before it.
model::SiteTotals totals_of(const wire::TotalsEntry& entry, const wire::TotalsRare& rare) {
  model::SiteTotals totals;
  totals.temporary = now(entry.temporary);
  totals.mismatched = now(rare.mismatched);
  totals.unkept_blocks = now(rare.unkept_blocks);
  totals.releases = now(entry.own_releases) + now(entry.other_releases);
  totals.released_bytes = now(entry.own_released_bytes) + now(entry.other_released_bytes);
  std::atomic_thread_fence(std::memory_order_acquire);
  totals.allocations = now(entry.allocations);
  totals.allocated_bytes = now(entry.allocated_bytes);
  // Overwritten by the program, or in the middle of an event.
  totals.releases = std::min(totals.releases, totals.allocations);
  totals.released_bytes = std::min(totals.released_bytes, totals.allocated_bytes);
  return totals;
}

}  // namespace

TotalsCollector::TotalsCollector(const log::LogParts& log)
    : parts_(log.totals),
      entry_capacity_(static_cast<uint32_t>(parts_.entries.size())),
      threads_known_(wire::kOwnThreads) {}

model::Totals TotalsCollector::read(const SiteOf& site_of, Uncounted uncounted) const {
  model::Totals totals;
  totals.peak_bytes = now(parts_.header->peak_bytes);
  totals.peak_blocks = now(parts_.header->peak_blocks);
  totals.peak_error_bytes = now(parts_.header->peak_error_bytes);
  totals.peak_error_blocks = now(parts_.header->peak_error_blocks);
  totals.double_releases = now(parts_.header->double_releases);
  totals.bad_releases = now(parts_.header->bad_releases);
  totals.unclear_releases = now(parts_.header->unclear_releases);
  totals.unknown_releases = now(parts_.header->unknown_releases);
  totals.unclear_temporary = now(parts_.header->unclear_temporary);
  if (uncounted.before || uncounted.while_off) {  // for all known figures of one of them
    totals.unknown_releases += totals.bad_releases + totals.unclear_releases;
    totals.bad_releases = totals.unclear_releases = 0;
  }
  if (uncounted.while_off) totals.unknown_releases += std::exchange(totals.double_releases, 0);
  read_threads(totals);
  read_sites(site_of, totals);
  read_live_sizes(totals);
  return totals;
}

// Of blocks of other threads, and of each thread's own, which its entries count.
void TotalsCollector::read_threads(model::Totals& totals) const {
  std::vector<uint64_t> releases(wire::kOwnThreads);
  for (uint32_t thread = 0; thread < wire::kOwnThreads; ++thread)
    releases[thread] = now(parts_.threads[wire::thread_place(thread)].releases);
  for (uint32_t i = 0; i < entry_count(); ++i) {
    const uint32_t thread = wire::entry_thread(now(parts_.entries[i].key));
    if (thread < wire::kOwnThreads) releases[thread] += now(parts_.entries[i].own_releases);
  }
  for (uint32_t thread = 0; thread < wire::kOwnThreads; ++thread) {
    if (releases[thread] != 0) totals.threads.push_back({thread, releases[thread]});
  }
}

uint32_t TotalsCollector::entry_count() const {
  return std::min(parts_.header->entry_count.load(std::memory_order_acquire), entry_capacity_);
}

void TotalsCollector::read_sites(const SiteOf& site_of, model::Totals& totals) const {
  const uint32_t count = entry_count();
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t key = now(parts_.entries[i].key);
    const uint8_t function = wire::entry_function(key);
    if (function == 0 || function >= wire::kFunctionCount) continue;
    model::SiteTotals entry = totals_of(parts_.entries[i], parts_.rare[i]);
    if (entry.allocations == 0) continue;
    wire::RawEvent event{};
    event.tagged_address = wire::make_tagged_address(wire::RecordKind::kAllocate, function, 0);
    event.stack = wire::entry_stack(key);
    entry.site = site_of(event);
    entry.thread = std::min(wire::entry_thread(key), wire::kOwnThreads);
    totals.sites.push_back(entry);
  }
}

void TotalsCollector::read_live_sizes(model::Totals& totals) const {
  constexpr size_t kMaxSizes = 65536;
  boost::unordered_flat_map<uint64_t, uint64_t> sizes;
  for (uint32_t line = 0; line < parts_.lines.size(); ++line) {
    // Reading never used entries would allocate their pages.
    if (parts_.pages[line / wire::kPageLines].load(std::memory_order_relaxed) == 0) continue;
    for (const wire::BlockPlace& place : parts_.lines[line].places) {
      if (!wire::is_live_block(now(place.tagged_address))) continue;
      const uint64_t size = wire::where_size(now(place.where));
      if (sizes.size() < kMaxSizes || sizes.contains(size)) ++sizes[size];
    }
  }
  for (const auto& [size, blocks] : sizes) totals.live_sizes.push_back({size, blocks});
  std::sort(totals.live_sizes.begin(), totals.live_sizes.end(),
            [](const model::LiveSize& a, const model::LiveSize& b) { return a.size_bytes < b.size_bytes; });
}

std::vector<TotalsCollector::Thread> TotalsCollector::take_new_threads() {
  std::vector<Thread> seen;
  for (uint32_t number = 1; number < wire::kOwnThreads; ++number) {
    const auto kernel_id = static_cast<uint32_t>(now(parts_.threads[wire::thread_place(number)].kernel_id));
    if (kernel_id == 0 || threads_known_[number]) continue;
    threads_known_[number] = true;
    seen.push_back({number, kernel_id});
  }
  return seen;
}

uint64_t TotalsCollector::missed_releases() const { return is_on() ? now(parts_.header->missed_releases) : 0; }

std::vector<model::Note> TotalsCollector::notes(const model::Totals& totals) const {
  std::vector<model::Note> notes;
  const auto note = [&notes](model::NoteKind kind, uint64_t count) {
    if (count > 0) notes.push_back({.kind = kind, .numbers = {count}});
  };
  uint64_t unkept = 0;
  for (const model::SiteTotals& entry : totals.sites) unkept += entry.unkept_blocks;
  note(model::NoteKind::kBlocksNotKept, unkept);
  note(model::NoteKind::kReleasesNotSeen, missed_releases());
  uint64_t other = 0;
  for (uint32_t i = 0; i < std::min<uint32_t>(wire::kFunctionCount, entry_capacity_); ++i)
    other += now(parts_.entries[i].allocations);
  note(model::NoteKind::kStacksNotKept, other);
  return notes;
}

}  // namespace heaptap::stream
