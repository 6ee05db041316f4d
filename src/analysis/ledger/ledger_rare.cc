// Infrequent events of the Ledger: bad releases, undone releases, mappings, pools that programs report.
#include "analysis/ledger/ledger.h"

namespace heaptap::ledger {

using model::BadRelease;
using model::BadReleaseKind;
using model::Event;
using model::EventBatch;

namespace {

// Bytes that count as a mapping's own: reserved addresses and files are beside (as in report::StackEntry).
uint64_t own_mapped(model::MappedKind kind, uint64_t bytes) {
  return kind == model::MappedKind::kReserved || kind == model::MappedKind::kFile ? 0 : bytes;
}

ActivityKey key_of_mapping(const Block& block) { return {block.site, block.thread, size_class_of(block.size_bytes)}; }

}  // namespace

void Ledger::begin_life(model::SiteId site) {
  if (keep_ != Keep::kCounts) site_times_[site].live.add(now_ns_);
}

void Ledger::end_life(const Block& block) {
  if (keep_ == Keep::kCounts) return;
  SiteTimes& times = site_times_[block.site];
  times.live.remove(block.allocated_at_ns);
  times.lifetimes.add(now_ns_ - block.allocated_at_ns);
}

uint64_t& Ledger::bad_counter(BadReleaseKind kind) {
  switch (kind) {
    case BadReleaseKind::kDouble:
      return totals_.double_releases;
    case BadReleaseKind::kNeverAllocated:
    case BadReleaseKind::kInterior:
      return totals_.bad_releases;
    case BadReleaseKind::kUnknown:
      break;
  }
  return totals_.unknown_releases;
}

void Ledger::on_bad_release(const EventBatch& batch, uint32_t index, LastRelease* undo_record) {
  const std::vector<BadRelease>& bad_releases = batch.bad_releases;
  while (next_bad_ < bad_releases.size() && bad_releases[next_bad_].event < index) {
    ++next_bad_;
  }
  BadRelease bad{.event = index,
                 .kind = BadReleaseKind::kUnknown,
                 .address = batch.events[index].address,
                 .block_size = 0,
                 .allocated_at = kNoSite,
                 .first_released_at = kNoSite,
                 .block_known = false};
  if (next_bad_ < bad_releases.size() && bad_releases[next_bad_].event == index) {
    bad = bad_releases[next_bad_];
  }
  if (wants(batch.events[index])) {
    count_bad_release(batch.events[index], bad, undo_record);
  }
}

void Ledger::count_bad_release(const Event& event, const BadRelease& bad, LastRelease* undo_record) {
  ++bad_counter(bad.kind);
  size_t error = ReleaseErrors::kDropped;
  if (bad.kind != BadReleaseKind::kUnknown) {
    ReleaseErrorKey key{.kind = ReleaseErrorKind::kBad, .released_at = event.site};
    if (bad.kind == BadReleaseKind::kInterior) {
      key.kind = ReleaseErrorKind::kInterior;
    }
    if (bad.kind == BadReleaseKind::kDouble) {
      key.kind = ReleaseErrorKind::kDouble;
    }
    if (bad.block_known) {
      key.allocated_at = bad.allocated_at;
      key.first_released_at = bad.kind == BadReleaseKind::kDouble ? bad.first_released_at : kNoSite;
    }
    error = errors_.add(key, bad.address, bad.block_size);
  }
  if (undo_record != nullptr) {
    threads_[event.thread].undo = Undo::kBadRelease;
    undo_record->bad_kind = bad.kind;
    undo_record->error = error;
    undo_record->has_error = bad.kind != BadReleaseKind::kUnknown;
  }
}

void Ledger::on_undo(const Event& event) {
  ThreadState& thread = threads_[event.thread];
  const Undo undo = std::exchange(thread.undo, Undo::kNothing);
  if (undo == Undo::kBlock) {
    undo_block(last_releases_[event.thread], event);
  } else if (undo == Undo::kBadRelease) {
    undo_bad_release(last_releases_[event.thread]);
  }
}

void Ledger::undo_bad_release(const LastRelease& last) {
  --bad_counter(last.bad_kind);
  if (last.has_error) {
    errors_.take_back(last.error);
  }
}

void Ledger::on_map(const Event& event) {
  const uint64_t length_bytes = wire::mapped_length(event.size_or_block);
  if (after_ || length_bytes == 0) {
    return;
  }
  release_mapped(event, length_bytes);
  ThreadState& thread = threads_[event.thread];
  thread.last_mapping = 0;
  wire::MappedMemory memory = wire::memory_of(event.size_or_block);
  if (memory.source == wire::MappedSource::kMoved) memory = thread.last_unmapped;
  if (!wants(event)) {
    return;
  }
  const Block block{.size_bytes = length_bytes,
                    .allocated_at_ns = now_ns_,
                    .address = event.address,
                    .site = event.site,
                    .thread = event.thread};
  thread.last_mapping = mappings_.add(block, memory);
  if (activity_) activity_->allocated(key_of_mapping(block), 1, own_mapped(model::kind_of(memory), length_bytes));
  count_allocation(event, 1, length_bytes);
  begin_life(event.site);
  count_mapped(event.site, model::kind_of(memory), length_bytes);
  totals_.mapped_live_bytes += length_bytes;
  totals_.peak_mapped_bytes = std::max(totals_.peak_mapped_bytes, totals_.mapped_live_bytes);
}

void Ledger::on_unmap(const Event& event) {
  if (!after_ && event.size_or_block != 0) {
    threads_[event.thread].last_unmapped = release_mapped(event, event.size_or_block);
  }
}

void Ledger::on_protect(const Event& event) {
  if (after_) return;
  const wire::MappedAccess access = wire::memory_of(event.size_or_block).access;
  for (const ProtectedPart& part : mappings_.protect(event.address, wire::mapped_length(event.size_or_block), access)) {
    const model::MappedKind from = model::kind_of(part.before);
    const model::MappedKind to = model::kind_of(part.after);
    if (from == to) continue;
    uncount_mapped(part.block.site, from, part.bytes);
    count_mapped(part.block.site, to, part.bytes);
    if (activity_) {
      activity_->shrank(key_of_mapping(part.block), own_mapped(from, part.bytes));
      activity_->grew(key_of_mapping(part.block), own_mapped(to, part.bytes));
    }
  }
}

void Ledger::count_mapped(model::SiteId site, model::MappedKind kind, uint64_t bytes) {
  const uint64_t peak_before = totals_.mapped.memory.peak_bytes;
  site_mapped_[site].add(kind, bytes, mapped_peak_id_);
  totals_.mapped.add(kind, bytes);
  mapped_peak_id_ += totals_.mapped.memory.peak_bytes > peak_before ? 1 : 0;
}

void Ledger::uncount_mapped(model::SiteId site, model::MappedKind kind, uint64_t bytes) {
  site_mapped_[site].remove(kind, bytes, mapped_peak_id_);
  totals_.mapped.remove(kind, bytes);
}

void Ledger::count_unmapped(const UnmappedPart& part, bool temporary) {
  const uint64_t bytes = own_mapped(model::kind_of(part.memory), part.bytes);
  if (part.last)
    activity_->released(key_of_mapping(part.block), 1, bytes, temporary);
  else
    activity_->shrank(key_of_mapping(part.block), bytes);
}

// Returns the kind of the last piece unmapped; the default if no mapping was known.
wire::MappedMemory Ledger::release_mapped(const Event& event, uint64_t length_bytes) {
  wire::MappedMemory memory;
  for (const UnmappedPart& part : mappings_.remove(event.address, length_bytes)) {
    Tally& tally = tallies_[part.block.site];
    tally.settle_peak(peak_id_);
    tally.live_bytes -= part.bytes;
    totals_.mapped_live_bytes -= part.bytes;
    memory = part.memory;
    uncount_mapped(part.block.site, model::kind_of(memory), part.bytes);
    const bool temporary = part.last && threads_[event.thread].last_mapping == part.mapping;
    if (activity_) count_unmapped(part, temporary);
    if (part.last) {
      ++tally.releases;
      end_life(part.block);
      tally.temporary_allocations += temporary ? 1 : 0;
    }
  }
  return memory;
}

// Blocks of pools are inside blocks or mappings that are counted: so they are not in the other totals.
void Ledger::on_pool_allocate(const Event& event) {
  if (after_) return;
  Event told = event;
  told.size_or_block = wire::size_in_pool(event.size_or_block);
  const bool counts = wants(event);
  if (!counts && (within_ || !facts_[event.site].wanted || (filter_.thread != 0 && filter_.thread != event.thread))) {
    return;
  }
  const Block block{.size_bytes = told.size_bytes(),
                    .allocated_at_ns = now_ns_,
                    .address = event.address,
                    .site = event.site,
                    .thread = event.thread};
  if (const auto before = pools_.add(event.size_or_block, {.block = block, .is_older = !counts})) {
    release_pooled(*before, event);
  }
  if (!counts) return;
  count_allocation(told, 1, told.size_bytes());
  begin_life(event.site);
  threads_[event.thread].last_pooled = event.address;
  if (is_resource(event.site)) {
    ++totals_.open_resources;
    return;
  }
  ++totals_.pool_allocations;
  ++totals_.pool_live_blocks;
  totals_.pool_live_bytes += told.size_bytes();
}

void Ledger::on_pool_release(const Event& event) {
  if (after_) return;
  if (const auto pooled = pools_.remove(event.size_or_block, event.address)) {
    release_pooled(*pooled, event);
  } else if (wants(event) && !filters_) {
    ++totals_.unknown_pool_releases;
  }
}

void Ledger::on_pool_destroy(const Event& event) {
  if (after_) return;
  pools_.remove_all(event.size_or_block, [&](const PooledBlock& pooled) { release_pooled(pooled, event); });
}

void Ledger::release_pooled(const PooledBlock& pooled, const Event& event) {
  const Block& block = pooled.block;
  if (pooled.is_older) {
    if (!within_) return;
    site_older_releases_.resize(std::max<size_t>(site_older_releases_.size(), size_t{block.site} + 1));
    ++site_older_releases_[block.site].blocks;
    site_older_releases_[block.site].bytes += block.size_bytes;
    return;
  }
  Tally& tally = tallies_[block.site];
  tally.settle_peak(peak_id_);
  ++tally.releases;
  tally.live_bytes -= block.size_bytes;
  end_life(block);
  tally.temporary_allocations += threads_[event.thread].last_pooled == block.address ? 1 : 0;
  if (is_resource(block.site)) {
    --totals_.open_resources;
    return;
  }
  --totals_.pool_live_blocks;
  totals_.pool_live_bytes -= block.size_bytes;
}

}  // namespace heaptap::ledger
