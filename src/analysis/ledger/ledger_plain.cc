// Fast loop of the Ledger for nearly all events: allocations, and releases by a matching function of blocks in dense pages, where
// only counts are kept. It makes no calls, so counters stay in registers; Ledger::process handles the rest.
#include <algorithm>

#include "analysis/ledger/dense_blocks.h"
#include "analysis/ledger/ledger.h"

namespace heaptap::ledger {

using model::Event;
using model::EventBatch;

class Ledger::PlainRun {
 public:
  explicit PlainRun(Ledger& ledger)
      : ledger_(ledger),
        blocks_(ledger.blocks_),
        facts_(ledger.facts_.data()),
        tallies_(ledger.tallies_.data()),
        threads_(ledger.threads_.data()),
        thread_count_(std::min<size_t>(kThreadsWithBits + 1, ledger.threads_.size())),
        now_ns_(ledger.now_ns_),
        totals_(ledger.totals_),
        peak_id_(ledger.peak_id_),
        peak_at_(ledger.peak_at_),
        next_block_(ledger.next_block_) {}

  // Returns the index of the first event of another kind, or `end`.
  template <bool kPrefetch>
  uint32_t count(const EventBatch& batch, uint32_t index, uint32_t end) {
    const Event* events = batch.events.data();
    const auto last = static_cast<uint32_t>(batch.events.size() - 1);
    while (index < end && to_shrink_ == 0) {
      if constexpr (kPrefetch) prefetch(events[std::min(index + kPrefetchEvents, last)]);
      if (!count_event(events[index])) break;
      ++index;
    }
    return index;
  }

  void finish() {
    ledger_.totals_ = totals_;
    ledger_.peak_id_ = peak_id_;
    ledger_.peak_at_ = peak_at_;
    ledger_.next_block_ = next_block_;
    if (to_shrink_ != 0) ledger_.blocks_.shrink_page_of(to_shrink_);
  }

 private:
  static constexpr size_t kThreadsWithBits = 64;  // in Tally::first_threads

  // Most kinds of events have a value that isn't a block's number: that does no harm.
  void prefetch(const Event& event) {
    __builtin_prefetch(blocks_.find(event.block()).slot, 1);
    __builtin_prefetch(&tallies_[event.site], 1);
  }

  bool count_event(const Event& event) {
    const SiteFacts facts = facts_[event.site];
    if (!facts.is_plain || (event.thread != thread_id_ && !go_to_thread(event.thread))) [[unlikely]] {
      return false;
    }
    return facts.kind == model::EventKind::kAllocate ? count_allocation(event) : count_release(event, facts.family);
  }

  bool go_to_thread(model::ThreadId thread) {
    if (thread == 0 || thread >= thread_count_) return false;
    thread_id_ = thread;
    thread_ = &threads_[thread];
    thread_bit_ = uint64_t{1} << (thread - 1);
    return true;
  }

  bool count_allocation(const Event& event) {
    const uint64_t size = event.size_bytes();
    if (!blocks_.insert(next_block_, event.site, size)) [[unlikely]] {
      return false;
    }
    thread_->last_block = next_block_++;
    thread_->undo = Undo::kNothing;
    Tally& tally = tallies_[event.site];
    tally.settle_peak(peak_id_);
    ++tally.allocations;
    tally.allocated_bytes += size;
    tally.live_bytes += size;
    tally.first_threads |= thread_bit_;
    ++totals_.allocations;
    totals_.allocated_bytes += size;
    totals_.live_bytes += size;
    if (totals_.live_bytes > totals_.peak_live_bytes) {
      totals_.peak_live_bytes = totals_.live_bytes;
      totals_.peak_time_ns = now_ns_;
      peak_at_ = &event;
      ++peak_id_;
    }
    totals_.peak_live_blocks = std::max(totals_.peak_live_blocks, totals_.live_blocks());
    return true;
  }

  bool count_release(const Event& event, wire::Family family) {
    const DenseBlocks::Place place = blocks_.find(event.block());
    // Not copied as a whole: processors are slow at loading data that was just stored in parts.
    const model::SiteId site = place.slot->site;
    const uint64_t size = place.slot->size_bytes;
    if (site == kNoSite || size == BlockSlot::kLarge || facts_[site].family != family) [[unlikely]] {
      return false;
    }
    const uint64_t temporary = thread_->last_block == event.block() ? 1 : 0;
    thread_->undo = Undo::kNothing;
    Tally& tally = tallies_[site];
    tally.settle_peak(peak_id_);
    ++tally.releases;
    tally.live_bytes -= size;
    tally.temporary_allocations += temporary;
    ++totals_.releases;
    totals_.live_bytes -= size;
    totals_.temporary_allocations += temporary;
    if (place.take()) [[unlikely]] {
      to_shrink_ = event.block();
    }
    return true;
  }

  Ledger& ledger_;
  DenseBlocks blocks_;
  const SiteFacts* facts_;
  Tally* tallies_;
  ThreadState* threads_;
  size_t thread_count_;  // that have a bit and a state
  uint64_t now_ns_;

  Totals totals_;
  uint64_t peak_id_;
  const Event* peak_at_;
  model::BlockNumber next_block_;
  model::BlockNumber to_shrink_ = 0;  // a block of the page to shrink; 0: none

  model::ThreadId thread_id_ = ~model::ThreadId{0};  // of the last event
  ThreadState* thread_ = nullptr;
  uint64_t thread_bit_ = 0;
};

uint32_t Ledger::count_plain(const EventBatch& batch, uint32_t index, uint32_t end) {
  // Fewer stay in the cache without prefetching.
  constexpr uint64_t kMany = 1 << 15;
  const bool are_many = totals_.live_blocks() > kMany || facts_.size() > kMany;
  PlainRun run(*this);
  index = are_many ? run.count<true>(batch, index, end) : run.count<false>(batch, index, end);
  run.finish();
  return index;
}

}  // namespace heaptap::ledger
