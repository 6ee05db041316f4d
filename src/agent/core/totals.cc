#include "agent/core/totals.h"

#include "agent/core/recorder.h"
#include "common/arch/native.h"

namespace heaptap::agent {
namespace {

using Released = TotalsState::Released;
using wire::Function;

constexpr uint64_t kMinusOne = ~uint64_t{0};

inline void add(std::atomic<uint64_t>& counter, uint64_t amount, bool own) {
  if (own) [[likely]] {
    arch::native::add_own(counter, amount);
  } else {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }
}

void count_one(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

wire::Family family_of(uint8_t function) { return wire::kFamilyOf[function < wire::kFunctionCount ? function : 0]; }

}  // namespace

bool TotalsBook::start(wire::LogHeader* log, const wire::CheckedLayout& checked) {
  header_ = nullptr;
  if (checked.log.totals_offset == 0) return true;
  const wire::TotalsLayout& layout = checked.totals;
  auto* base = reinterpret_cast<uint8_t*>(log);
  auto* header = reinterpret_cast<wire::TotalsHeader*>(base + checked.log.totals_offset);
  threads_ = reinterpret_cast<wire::TotalsThread*>(base + layout.threads_offset);
  entries_ = reinterpret_cast<wire::TotalsEntry*>(base + layout.entries_offset);
  rare_ = reinterpret_cast<wire::TotalsRare*>(base + layout.rare_offset);
  entry_capacity_ = layout.entry_capacity;
  blocks_.start(reinterpret_cast<wire::BlockLine*>(base + layout.lines_offset), layout.line_count,
                reinterpret_cast<std::atomic<uint8_t>*>(base + layout.pages_offset));
  live_.start(*log, *header);
  if (!index_.start(entries_, entry_capacity_)) return false;
  header_ = header;
  return true;
}

void TotalsBook::begin_thread(TotalsState& state, uint32_t number, uint32_t kernel_id) {
  state.thread = number < wire::kOwnThreads ? number : 0;
  state.released = Released::kNothing;
  live_.begin(state.live, number == 1);
  threads_[wire::thread_place(state.thread)].kernel_id.store(kernel_id, std::memory_order_relaxed);
}

// The program can write to this memory by mistake.
inline uint32_t TotalsBook::entry_number(uint64_t where) const {
  const uint32_t entry = wire::where_entry(where);
  return entry < entry_capacity_ ? entry : 0;
}

inline wire::TotalsEntry& TotalsBook::entry_of(uint64_t where) const { return entries_[entry_number(where)]; }

inline wire::TotalsRare& TotalsBook::rare_of(uint64_t where) const { return rare_[entry_number(where)]; }

inline bool TotalsBook::owns(const TotalsState& state, const wire::TotalsEntry& entry) const {
  return state.thread != 0 && wire::entry_thread(entry.key.load(std::memory_order_relaxed)) == state.thread;
}

// The number of the entry for this thread's allocations at this site.
inline uint32_t TotalsBook::entry_for(TotalsState& state, uint32_t stack, uint8_t function) {
  const uint32_t known = state.known[stack % TotalsState::kKnownEntries];
  const uint64_t key = wire::make_entry_key(stack, state.thread, function);
  if (entries_[known].key.load(std::memory_order_relaxed) == key) [[likely]]
    return known;
  return find_entry(state, stack, function);
}

__attribute__((noinline)) uint32_t TotalsBook::find_entry(TotalsState& state, uint32_t stack, uint8_t function) {
  for (;;) {
    const uint64_t key = wire::make_entry_key(stack, state.thread, function);
    uint32_t entry = index_.find(key);
    if (entry == 0) {
      // When room gets short, threads share entries.
      const uint32_t count = header_->entry_count.load(std::memory_order_relaxed);
      if (state.thread > 1 && count > entry_capacity_ / 2) {
        state.thread = 0;
        continue;
      }
      entry = add_entry(key);
    }
    if (entry == 0) return function;  // "other stacks"
    return state.known[stack % TotalsState::kKnownEntries] = entry;
  }
}

uint32_t TotalsBook::add_entry(uint64_t key) {
  const uint32_t entry = wire::claim_entry(header_->entry_count, entry_capacity_);
  if (entry == wire::kNoEntry) return 0;
  entries_[entry].key.store(key, std::memory_order_release);
  return index_.add(key, entry);
}

void TotalsBook::allocate(TotalsState& state, ThreadAnchor& anchor, const Observation& seen, uint32_t stack) {
  const auto function = static_cast<uint8_t>(seen.function);
  const uint32_t number = entry_for(state, stack, function);
  wire::TotalsEntry& entry = entries_[number];
  const bool own = owns(state, entry);
  add(entry.allocations, 1, own);
  add(entry.allocated_bytes, seen.size_bytes, own);
  anchor.last_block = seen.address;
  uint64_t before = 0;
  auto kept = LiveBlocks::Insert::kFull;
  if (seen.size_bytes <= wire::kMaxBlockBytes) [[likely]]
    kept = blocks_.insert(seen.address, wire::make_where(number, seen.size_bytes), before);
  if (kept != LiveBlocks::Insert::kPlaced) [[unlikely]] {
    if (kept == LiveBlocks::Insert::kFull) {
      count_one(rare_[number].unkept_blocks);
      count_one(header_->unkept_blocks);
      return;
    }
    count_one(header_->missed_releases);
    count_release(state, before, 1);
  }
  live_.allocate(state.live, seen.size_bytes);
}

// `times`: 1, or kMinusOne to undo one.
inline void TotalsBook::count_release(TotalsState& state, uint64_t where, uint64_t times) {
  wire::TotalsEntry& entry = entry_of(where);
  const uint64_t bytes = wire::where_size(where) * times;
  const bool own = owns(state, entry);
  add(own ? entry.own_releases : entry.other_releases, times, own);
  add(own ? entry.own_released_bytes : entry.other_released_bytes, bytes, own);
  live_.release(state.live, wire::where_size(where), times);
}

inline void TotalsBook::count_thread_release(const TotalsState& state, const wire::TotalsEntry& entry, uint64_t times) {
  if (!owns(state, entry)) add(threads_[wire::thread_place(state.thread)].releases, times, state.thread != 0);
}

// Whether the block is the last one allocated by this thread. Threads that share entries can't tell their own from
// others'.
bool TotalsBook::is_temporary(const TotalsState& state, const ThreadAnchor& anchor, uint64_t address, uint64_t key) {
  if (anchor.last_block != address) return false;
  const uint32_t allocated_by = wire::entry_thread(key);
  if (allocated_by == 0 || state.thread == 0) {
    count_one(header_->unclear_temporary);
    return true;
  }
  return allocated_by == state.thread;
}

inline void TotalsBook::release_taken(TotalsState& state, const ThreadAnchor& anchor, const Observation& seen,
                                      uint64_t where) {
  const bool may_be_undone = seen.function == Function::kRealloc || seen.function == Function::kReallocarray;
  count_release(state, where, 1);
  wire::TotalsEntry& entry = entry_of(where);
  count_thread_release(state, entry, 1);
  const uint64_t key = entry.key.load(std::memory_order_relaxed);
  const bool temporary = is_temporary(state, anchor, seen.address, key);
  if (temporary) add(entry.temporary, 1, owns(state, entry));
  const bool mismatched = family_of(wire::entry_function(key)) != family_of(static_cast<uint8_t>(seen.function));
  if (mismatched) [[unlikely]]
    count_one(rare_of(where).mismatched);
  if (may_be_undone) {
    state.released = Released::kBlock;
    state.was_temporary = temporary;
    state.was_mismatched = mismatched;
    state.address = seen.address;
    state.where = where;
  }
}

void TotalsBook::release(TotalsState& state, ThreadAnchor& anchor, const Observation& seen) {
  uint64_t where = 0;
  const LiveBlocks::Take take = blocks_.take(seen.address, where);
  if (take != LiveBlocks::Take::kTaken) [[unlikely]]
    return not_alive(state, seen.address, take);
  release_taken(state, anchor, seen, where);
}

__attribute__((noinline)) void TotalsBook::release_if_known(TotalsState& state, ThreadAnchor& anchor,
                                                            const Observation& seen) {
  uint64_t where = 0;
  state.released = Released::kNothing;
  if (blocks_.take(seen.address, where) == LiveBlocks::Take::kTaken) release_taken(state, anchor, seen, where);
}

__attribute__((noinline)) void TotalsBook::not_alive(TotalsState& state, uint64_t address, LiveBlocks::Take take) {
  state.released = take == LiveBlocks::Take::kDead    ? Released::kDouble
                   : take == LiveBlocks::Take::kNever ? Released::kBad
                                                      : Released::kUnclear;
  if (header_->unkept_blocks.load(std::memory_order_relaxed) != 0) state.released = Released::kUnknown;
  state.address = address;
  count_one(*counter_of(state.released));
}

std::atomic<uint64_t>* TotalsBook::counter_of(Released released) const {
  switch (released) {
    case Released::kDouble:
      return &header_->double_releases;
    case Released::kBad:
      return &header_->bad_releases;
    case Released::kUnclear:
      return &header_->unclear_releases;
    case Released::kUnknown:
      return &header_->unknown_releases;
    case Released::kNothing:
    case Released::kBlock:
      break;
  }
  return nullptr;
}

// The realloc failed: the block is unchanged.
void TotalsBook::undo(TotalsState& state, const Observation& seen) {
  const Released released = state.released;
  state.released = Released::kNothing;
  if (released == Released::kNothing || state.address != seen.address) return;
  if (released != Released::kBlock) {
    counter_of(released)->fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  uint64_t before = 0;
  if (blocks_.insert(seen.address, state.where, before) == LiveBlocks::Insert::kFull) {
    count_one(rare_of(state.where).unkept_blocks);
    count_one(header_->unkept_blocks);
    return;
  }
  count_release(state, state.where, kMinusOne);
  wire::TotalsEntry& entry = entry_of(state.where);
  count_thread_release(state, entry, kMinusOne);
  if (state.was_temporary) add(entry.temporary, kMinusOne, owns(state, entry));
  if (state.was_mismatched) rare_of(state.where).mismatched.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace heaptap::agent
