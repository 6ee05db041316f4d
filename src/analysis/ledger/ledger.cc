#include "analysis/ledger/ledger.h"

#include <algorithm>
#include <bit>

namespace heaptap::ledger {

using model::Event;
using model::EventBatch;
using model::EventKind;
using wire::Role;

namespace {

// Maximum of events searched for the fate of a realloc.
constexpr uint32_t kMaxEventsAhead = 16384;

}  // namespace

Ledger::Ledger(LedgerOptions options)
    : filter_(std::move(options.filter)),
      keep_(options.statistics ? Keep::kStatistics
            : options.details  ? Keep::kDetails
                               : Keep::kCounts),
      weights_(options.sample_interval),
      filters_(filter_.thread != 0 || filter_.from_ns != 0 || filter_.to_ns != ~uint64_t{0} ||
               filter_.from_event != 0 || filter_.to_event != ~uint64_t{0} || filter_.wants_site),
      within_(filter_.from_ns == 0 && filter_.from_event == 0),
      knows_older_(!within_),
      first_counted_(within_ ? 0 : ~model::BlockNumber{0}),
      blocks_(keep_ != Keep::kCounts),
      mappings_(options.page_bytes),
      lifetimes_(options.time_resolution_ns),
      timeline_(std::max(filter_.from_ns, filter_.start_ns), options.time_resolution_ns) {
  if (options.activity && keep_ == Keep::kStatistics)
    activity_.emplace(std::max(filter_.from_ns, filter_.start_ns), options.time_resolution_ns);
  // What lies between two samples isn't known.
  gaps_.temporary = gaps_.bad_releases = weights_.is_sampled();
}

void Ledger::add(const EventBatch& batch, const model::Tables& tables) {
  learn(tables);
  next_block_ = batch.first_block;
  next_bad_ = 0;
  switch (keep_) {
    case Keep::kCounts:
      return apply<Keep::kCounts>(batch);
    case Keep::kDetails:
      return apply<Keep::kDetails>(batch);
    case Keep::kStatistics:
      return apply<Keep::kStatistics>(batch);
  }
}

template <Ledger::Keep kKeep>
void Ledger::apply(const EventBatch& batch) {
  const auto count = static_cast<uint32_t>(batch.events.size());
  const uint64_t before = events_;
  events_ += count;
  size_t mark = 0;
  for (uint32_t index = 0; index < count;) {
    if (filters_) set_event(before + index);
    while (mark < batch.time_marks.size() && batch.time_marks[mark].first_event <= index) {
      set_time(batch.time_marks[mark++].time_ns);
    }
    uint32_t end = mark < batch.time_marks.size() ? std::min(count, batch.time_marks[mark].first_event) : count;
    if (filters_) end = static_cast<uint32_t>(std::min<uint64_t>(end, next_limit(before + index) - before));
    while (index < end) {
      if constexpr (kKeep == Keep::kCounts) {
        if (!filters_ && !weights_.is_sampled()) index = count_plain(batch, index, end);
        if (index == end) break;
      }
      index += process<kKeep>(batch, index, end);
    }
  }
  if (peak_at_ != nullptr) peak_event_ = before + static_cast<uint64_t>(peak_at_ - batch.events.data()) + 1;
  peak_at_ = nullptr;
}

// Makes room for the sites that the batch may refer to.
void Ledger::learn(const model::Tables& tables) {
  if (facts_.size() == tables.sites.size()) return;
  base::make_room(facts_, tables.sites.size());
  base::make_room(tallies_, tables.sites.size());
  for (size_t site = facts_.size(); site < tables.sites.size(); ++site) {
    const wire::FunctionFacts& function = wire::facts_of(tables.sites[site].function);
    SiteFacts facts{.kind = tables.sites[site].kind, .family = function.family};
    facts.can_be_undone = facts.kind == EventKind::kRelease && function.role == Role::kReallocate;
    facts.is_plain = !facts.can_be_undone && (facts.kind == EventKind::kAllocate || facts.kind == EventKind::kRelease);
    facts.wanted = !filter_.wants_site || filter_.wants_site(tables, static_cast<model::SiteId>(site));
    facts_.push_back(facts);
  }
  tallies_.resize(facts_.size());
  if (keep_ != Keep::kCounts) site_times_.resize(facts_.size());
}

void Ledger::learn_threads(model::ThreadId thread) {
  threads_.resize(size_t{thread} + 1);
  if (keep_ == Keep::kStatistics) {
    thread_tallies_.resize(size_t{thread} + 1);
  }
}

// The next start or end of the window, as a number of events.
uint64_t Ledger::next_limit(uint64_t event) const {
  return event < filter_.from_event ? filter_.from_event : event < filter_.to_event ? filter_.to_event : ~uint64_t{0};
}

// The next event is at this number.
void Ledger::set_event(uint64_t event) {
  event_ = event;
  update_window();
}

void Ledger::update_window() {
  after_ = now_ns_ > filter_.to_ns || event_ >= filter_.to_event;
  within_ = now_ns_ >= filter_.from_ns && event_ >= filter_.from_event && !after_;
  if (within_) first_counted_ = std::min(first_counted_, next_block_);
}

void Ledger::set_time(uint64_t time_ns) {
  now_ns_ = std::max(now_ns_, time_ns);
  update_window();
  if (within_) {
    timeline_.advance(now_ns_, state());
    if (activity_) activity_->advance(now_ns_);
  }
}

// Prefetches for a later event. Its value is a block's number if it is a release.
inline void Ledger::prefetch(const EventBatch& batch, uint32_t index) const {
  const Event& event = batch.events[std::min<size_t>(size_t{index} + kPrefetchEvents, batch.events.size() - 1)];
  blocks_.prefetch(event.block());
  __builtin_prefetch(&tallies_[event.site], 1);
}

// Returns the number of events consumed.
template <Ledger::Keep kKeep>
inline uint32_t Ledger::process(const EventBatch& batch, uint32_t index, uint32_t end) {
  const Event& event = batch.events[index];
  prefetch(batch, index);
  if (event.thread >= threads_.size()) [[unlikely]] {
    learn_threads(event.thread);
  }
  // (If only counts are kept, count_plain needs the table's open page.)
  if (kKeep != Keep::kCounts && index + 1 < end && is_pair(event, batch.events[index + 1])) {
    on_pair<kKeep>(event, batch.events[index + 1]);
    return 2;
  }
  switch (facts_[event.site].kind) {
    case EventKind::kAllocate:
      on_allocate<kKeep>(event);
      break;
    case EventKind::kRelease:
      on_release<kKeep>(batch, index);
      break;
    case EventKind::kUndo:
      on_undo(event);
      break;
    case EventKind::kMap:
      on_map(event);
      break;
    case EventKind::kUnmap:
      on_unmap(event);
      break;
    case EventKind::kProtect:
      on_protect(event);
      break;
    case EventKind::kPoolAllocate:
      on_pool_allocate(event);
      break;
    case EventKind::kPoolRelease:
      on_pool_release(event);
      break;
    case EventKind::kPoolDestroy:
      on_pool_destroy(event);
      break;
  }
  return 1;
}

template <Ledger::Keep kKeep>
inline void Ledger::note_live_bytes(const Event& event) {
  if (totals_.live_bytes > totals_.peak_live_bytes) {
    totals_.peak_live_bytes = totals_.live_bytes;
    totals_.peak_time_ns = now_ns_;
    peak_at_ = &event;
    ++peak_id_;
  }
  if (totals_.live_blocks() > totals_.peak_live_blocks) {
    totals_.peak_live_blocks = totals_.live_blocks();
  }
  if constexpr (kKeep == Keep::kStatistics) {
    timeline_.see(totals_.live_bytes);
  }
}

template <Ledger::Keep kKeep>
inline void Ledger::on_allocate(const Event& event) {
  const model::BlockNumber number = next_block_++;
  ThreadState& thread = threads_[event.thread];
  thread.last_block = number;
  thread.undo = Undo::kNothing;
  if (!wants(event) && !keep_older(event, number)) {
    return;
  }
  blocks_.insert(number, {.size_bytes = event.size_bytes(),
                          .allocated_at_ns = now_ns_,
                          .address = event.address,
                          .site = event.site,
                          .thread = event.thread});
  if (is_older(number)) return;
  count_block<kKeep>(event, number);
  if constexpr (kKeep != Keep::kCounts) {
    site_times_[event.site].live.add(now_ns_, weights_.blocks_of(event.size_bytes(), number));
  }
}

// Whether it is a block from before the window that would count in it: its release is counted separately.
bool Ledger::keep_older(const Event& event, model::BlockNumber number) {
  return is_older(number) && !after_ && facts_[event.site].wanted &&
         (filter_.thread == 0 || filter_.thread == event.thread);
}

void Ledger::count_older_release(const Event& event, const Block& block, LastRelease* undo_record) {
  if (undo_record != nullptr) {
    threads_[event.thread].undo = Undo::kBlock;
    *undo_record = {
        .block = block, .number = event.block(), .released_at_ns = now_ns_, .older = true, .counted = within_};
  }
  if (!within_) return;
  site_older_releases_.resize(std::max<size_t>(site_older_releases_.size(), size_t{block.site} + 1));
  const uint64_t blocks = weights_.blocks_of(block.size_bytes, event.block());
  for (OlderReleases* const count : {&older_releases_, &site_older_releases_[block.site]}) {
    count->blocks += blocks;
    count->bytes += blocks * block.size_bytes;
  }
}

void Ledger::undo_older_release(const LastRelease& last) {
  blocks_.restore(last.number, last.block);
  if (!last.counted) return;
  const uint64_t blocks = weights_.blocks_of(last.block.size_bytes, last.number);
  for (OlderReleases* const count : {&older_releases_, &site_older_releases_[last.block.site]}) {
    count->blocks -= blocks;
    count->bytes -= blocks * last.block.size_bytes;
  }
}

template <Ledger::Keep kKeep>
inline void Ledger::count_block(const Event& event, model::BlockNumber number) {
  const uint64_t blocks = weights_.blocks_of(event.size_bytes(), number);
  const uint64_t bytes = blocks * event.size_bytes();
  count_allocation(event, blocks, bytes);
  if constexpr (kKeep == Keep::kStatistics) {
    ThreadTally& by_thread = thread_tallies_[event.thread];
    by_thread.allocations += blocks;
    by_thread.allocated_bytes += bytes;
    sizes_.allocated(event.size_bytes(), blocks);
    if (activity_) activity_->allocated({event.site, event.thread, size_class_of(event.size_bytes())}, blocks, bytes);
  }
  totals_.allocations += blocks;
  totals_.allocated_bytes += bytes;
  totals_.live_bytes += bytes;
  note_live_bytes<kKeep>(event);
}

// A block that is released by the next event, by a matching function: it needs no place in the table.
inline bool Ledger::is_pair(const Event& event, const Event& next) const {
  return next.block() == next_block_ && !filters_ && next.thread == event.thread &&
         facts_[event.site].kind == EventKind::kAllocate && facts_[next.site].kind == EventKind::kRelease &&
         !facts_[next.site].can_be_undone && facts_[event.site].family == facts_[next.site].family;
}

template <Ledger::Keep kKeep>
inline void Ledger::on_pair(const Event& event, const Event& release) {
  ThreadState& thread = threads_[event.thread];
  thread.last_block = next_block_;
  thread.undo = Undo::kNothing;
  count_block<kKeep>(event, next_block_++);
  const Block block{.size_bytes = event.size_bytes(),
                    .allocated_at_ns = now_ns_,
                    .address = event.address,
                    .site = event.site,
                    .thread = event.thread};
  count_release<kKeep>(release, block, nullptr);
}

void Ledger::note_new_thread(Tally& tally, const Event& event, uint64_t bit) {
  if (bit != 0) {
    tally.first_threads |= bit;
    return;
  }
  more_threads_.resize(std::max<size_t>(more_threads_.size(), size_t{event.site} + 1));
  std::vector<model::ThreadId>& more = more_threads_[event.site];
  const auto place = std::lower_bound(more.begin(), more.end(), event.thread);
  if (place == more.end() || *place != event.thread) {
    more.insert(place, event.thread);
  }
}

uint64_t Ledger::mismatched_releases_of(model::SiteId site) const {
  const auto found = mismatched_frees_.find(site);
  return found == mismatched_frees_.end() ? 0 : found->second;
}

std::vector<model::ThreadId> Ledger::threads_of(model::SiteId site) const {
  std::vector<model::ThreadId> threads;
  for (uint64_t rest = tallies_[site].first_threads; rest != 0; rest &= rest - 1) {
    threads.push_back(static_cast<model::ThreadId>(std::countr_zero(rest)) + 1);
  }
  if (site < more_threads_.size()) {
    threads.insert(threads.end(), more_threads_[site].begin(), more_threads_[site].end());
  }
  return threads;
}

// Whether the thread's next event undoes the release of event `index`. A release known to be undone is skipped at once,
// so that no peak in between is missed.
bool Ledger::undone_within(const EventBatch& batch, uint32_t index, const base::LargeVector<SiteFacts>& facts) {
  const size_t end = std::min<size_t>(batch.events.size(), size_t{index} + kMaxEventsAhead);
  for (size_t next = size_t{index} + 1; next < end; ++next) {
    if (batch.events[next].thread == batch.events[index].thread) {
      return facts[batch.events[next].site].kind == EventKind::kUndo;
    }
  }
  return false;
}

template <Ledger::Keep kKeep>
inline void Ledger::on_release(const EventBatch& batch, uint32_t index) {
  const Event& event = batch.events[index];
  LastRelease* undo_record = nullptr;
  ThreadState& thread = threads_[event.thread];
  thread.undo = Undo::kNothing;
  if (facts_[event.site].can_be_undone) {
    if (undone_within(batch, index, facts_)) {
      thread.undo = Undo::kSkipped;
      return;
    }
    undo_record = &(last_releases_[event.thread] = LastRelease{});
  }
  if (event.block() == model::kUnknownBlock) [[unlikely]] {
    on_bad_release(batch, index, undo_record);
  } else {
    on_release_of_block<kKeep>(event, undo_record);
  }
}

template <Ledger::Keep kKeep>
inline void Ledger::on_release_of_block(const Event& event, LastRelease* undo_record) {
  if (!after_) {
    blocks_.take(event.block(), [&](const Block& block) {
      if (is_older(event.block())) [[unlikely]]
        return count_older_release(event, block, undo_record);
      if constexpr (kKeep != Keep::kCounts) {
        site_times_[block.site].live.remove(block.allocated_at_ns, weights_.blocks_of(block.size_bytes, event.block()));
      }
      count_release<kKeep>(event, block, undo_record);
    });
  }
}

template <Ledger::Keep kKeep>
inline void Ledger::count_release(const Event& event, const Block& block, LastRelease* undo_record) {
  const uint64_t size_bytes = block.size_bytes;
  const uint64_t blocks = weights_.blocks_of(size_bytes, event.block());
  const uint64_t bytes = blocks * size_bytes;
  const wire::Family family = facts_[event.site].family;
  const bool unseen = family == wire::Family::kNone;  // released at an unknown time
  const bool temporary = threads_[event.thread].last_block == event.block() && !unseen;
  const uint64_t lifetime_ns = now_ns_ - block.allocated_at_ns;
  Tally& tally = tallies_[block.site];
  tally.settle_peak(peak_id_);
  tally.releases += blocks;
  tally.live_bytes -= bytes;
  tally.temporary_allocations += temporary ? blocks : 0;
  if constexpr (kKeep != Keep::kCounts) {
    site_times_[block.site].lifetimes.add(lifetime_ns, blocks);
  }
  if constexpr (kKeep == Keep::kStatistics) {
    thread_tallies_[event.thread].releases += blocks;
    sizes_.released(size_bytes, blocks);
    if (activity_) activity_->released({block.site, block.thread, size_class_of(size_bytes)}, blocks, bytes, temporary);
    lifetimes_.add(lifetime_ns, blocks, bytes);
  }
  totals_.releases += blocks;
  totals_.live_bytes -= bytes;
  totals_.temporary_allocations += temporary ? blocks : 0;
  totals_.unseen_releases += unseen ? blocks : 0;
  const bool mismatched = !unseen && !wire::match(family, facts_[block.site].family);
  size_t error = ReleaseErrors::kDropped;
  if (mismatched) [[unlikely]] {
    ++mismatched_frees_[block.site];
    ++totals_.mismatched_releases;
    const ReleaseErrorKey key{ReleaseErrorKind::kMismatched, event.site, block.site, kNoSite};
    error = errors_.add(key, event.address != 0 ? event.address : block.address, size_bytes);
  }
  if (undo_record != nullptr) {
    threads_[event.thread].undo = Undo::kBlock;
    *undo_record = {.block = block,
                    .number = event.block(),
                    .released_at_ns = now_ns_,
                    .error = error,
                    .has_error = mismatched,
                    .temporary = temporary};
  }
}

// Restores a block whose release was undone.
void Ledger::undo_block(const LastRelease& last, const Event& event) {
  if (last.older) return undo_older_release(last);
  const Block& block = last.block;
  const uint64_t lifetime_ns = last.released_at_ns - block.allocated_at_ns;
  const uint64_t blocks = weights_.blocks_of(block.size_bytes, last.number);
  const uint64_t bytes = blocks * block.size_bytes;
  blocks_.restore(last.number, block);
  Tally& tally = tallies_[block.site];
  tally.settle_peak(peak_id_);
  tally.releases -= blocks;
  tally.live_bytes += bytes;
  tally.temporary_allocations -= last.temporary ? blocks : 0;
  if (keep_ != Keep::kCounts) {
    site_times_[block.site].lifetimes.take_back(lifetime_ns, blocks);
    site_times_[block.site].live.add(block.allocated_at_ns, blocks);
  }
  totals_.releases -= blocks;
  totals_.live_bytes += bytes;
  totals_.temporary_allocations -= last.temporary ? blocks : 0;
  if (last.has_error) {
    --mismatched_frees_[block.site];
    --totals_.mismatched_releases;
    errors_.take_back(last.error);
  }
  if (keep_ != Keep::kStatistics) {
    return note_live_bytes<Keep::kCounts>(event);
  }
  thread_tallies_[event.thread].releases -= blocks;
  sizes_.restored(block.size_bytes, blocks);
  lifetimes_.remove(lifetime_ns, blocks, bytes);
  timeline_.restore(last.released_at_ns, bytes);
  if (activity_) {
    activity_->restored({block.site, block.thread, size_class_of(block.size_bytes)}, blocks, bytes, last.temporary,
                        last.released_at_ns);
  }
  note_live_bytes<Keep::kStatistics>(event);
}

}  // namespace heaptap::ledger
