// The Ledger's less frequent events: bad releases, releases that are undone, mappings.
#include "ledger/ledger.h"

namespace heaptap::ledger {

using model::BadRelease;
using model::BadReleaseKind;
using model::Event;
using model::EventBatch;

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
    undo_block(last_releases_[event.thread], event.thread);
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
  if (after_ || event.size_bytes() == 0) {
    return;
  }
  release_mapped(event, event.size_bytes());
  threads_[event.thread].last_mapping = 0;
  if (!wants(event)) {
    return;
  }
  threads_[event.thread].last_mapping = mappings_.add({.size_bytes = event.size_bytes(),
                                                       .allocated_at_ns = now_ns_,
                                                       .address = event.address,
                                                       .site = event.site,
                                                       .thread = event.thread});
  count_allocation(event);
  totals_.mapped_live_bytes += event.size_bytes();
  totals_.peak_mapped_bytes = std::max(totals_.peak_mapped_bytes, totals_.mapped_live_bytes);
}

void Ledger::on_unmap(const Event& event) {
  if (!after_ && event.size_bytes() != 0) {
    release_mapped(event, event.size_bytes());
  }
}

void Ledger::release_mapped(const Event& event, uint64_t length_bytes) {
  for (const UnmappedPart& part : mappings_.remove(event.address, length_bytes)) {
    Tally& tally = tallies_[part.block.site];
    tally.settle_peak(peak_id_);
    tally.live_bytes -= part.bytes;
    totals_.mapped_live_bytes -= part.bytes;
    if (part.last) {
      ++tally.releases;
      if (keep_ != Keep::kCounts) site_lifetimes_[part.block.site].add(now_ns_ - part.block.allocated_at_ns);
      tally.temporary_allocations += threads_[event.thread].last_mapping == part.mapping ? 1 : 0;
    }
  }
}

}  // namespace heaptap::ledger
