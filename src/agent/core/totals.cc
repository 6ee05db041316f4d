#include "agent/core/totals.h"

#include "common/arch/native.h"

namespace heaptap::agent {
namespace {

using Released = TotalsState::Released;
using wire::Function;

constexpr uint64_t kMinusOne = ~uint64_t{0};

inline void add(wire::Atomic64& counter, uint64_t amount, bool own) {
  if (own) [[likely]] {
    arch::native::add_own(counter, amount);
  } else {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }
}

void count_one(wire::Atomic64& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

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

void TotalsBook::allocate(TotalsState& state, ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes,
                          uint32_t stack) {
  const uint64_t address = wire::record_address(tagged_address);
  const uint32_t number = entry_for(state, stack, wire::record_function(tagged_address));
  wire::TotalsEntry& entry = entries_[number];
  const bool own = owns(state, entry);
  add(entry.allocations, 1, own);
  add(entry.allocated_bytes, size_bytes, own);
  anchor.last_block = address;
  uint64_t before = 0;
  auto kept = LiveBlocks::Insert::kFull;
  if (size_bytes <= wire::kMaxBlockBytes) [[likely]]
    kept = blocks_.insert(address, wire::make_where(number, size_bytes), before);
  if (kept != LiveBlocks::Insert::kPlaced) [[unlikely]] {
    not_placed(state, number, kept, before);
    if (kept == LiveBlocks::Insert::kFull) return;
  }
  live_.allocate(state.live, size_bytes);
}

// The block isn't kept, or its address was alive still: with `before`.
__attribute__((noinline, cold)) void TotalsBook::not_placed(TotalsState& state, uint32_t entry, LiveBlocks::Insert kept,
                                                            uint64_t before) {
  if (kept == LiveBlocks::Insert::kFull) {
    count_one(rare_[entry].unkept_blocks);
    count_one(header_->unkept_blocks);
    return;
  }
  count_one(header_->missed_releases);
  count_rare_release(state, before, 1);
}

// `times`: 1, or kMinusOne to undo one.
inline __attribute__((always_inline)) void TotalsBook::count_release(TotalsState& state, uint64_t where,
                                                                     uint64_t times) {
  wire::TotalsEntry& entry = entry_of(where);
  const uint64_t bytes = wire::where_size(where) * times;
  const bool own = owns(state, entry);
  add(own ? entry.own_releases : entry.other_releases, times, own);
  add(own ? entry.own_released_bytes : entry.other_released_bytes, bytes, own);
  live_.release(state.live, wire::where_size(where), times);
}

__attribute__((noinline, cold)) void TotalsBook::count_rare_release(TotalsState& state, uint64_t where,
                                                                    uint64_t times) {
  count_release(state, where, times);
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

void TotalsBook::release(TotalsState& state, ThreadAnchor& anchor, uint64_t tagged_address, Blocks blocks) {
  const auto function = static_cast<Function>(wire::record_function(tagged_address));
  const uint64_t address = wire::record_address(tagged_address);
  uint64_t where = 0;
  const LiveBlocks::Take take = blocks_.take(address, where);
  if (take != LiveBlocks::Take::kTaken) [[unlikely]]
    return not_alive(state, address, take, blocks);
  count_release(state, where, 1);
  wire::TotalsEntry& entry = entry_of(where);
  count_thread_release(state, entry, 1);
  const uint64_t key = entry.key.load(std::memory_order_relaxed);
  const bool temporary = is_temporary(state, anchor, address, key);
  if (temporary) add(entry.temporary, 1, owns(state, entry));
  const bool mismatched = family_of(wire::entry_function(key)) != family_of(static_cast<uint8_t>(function));
  if (mismatched) [[unlikely]]
    count_one(rare_of(where).mismatched);
  if (function == Function::kRealloc || function == Function::kReallocarray) {  // it may be undone
    state.released = Released::kBlock;
    state.was_temporary = temporary;
    state.was_mismatched = mismatched;
    state.address = address;
    state.where = where;
  }
}

__attribute__((noinline, cold)) void TotalsBook::not_alive(TotalsState& state, uint64_t address, LiveBlocks::Take take,
                                                           Blocks blocks) {
  state.released = take == LiveBlocks::Take::kDead    ? Released::kDouble
                   : take == LiveBlocks::Take::kNever ? Released::kBad
                                                      : Released::kUnclear;
  if (blocks == Blocks::kKnown) state.released = Released::kNothing;
  if (state.released == Released::kNothing) return;
  if (header_->unkept_blocks.load(std::memory_order_relaxed) != 0) state.released = Released::kUnknown;
  state.address = address;
  count_one(*counter_of(state.released));
}

wire::Atomic64* TotalsBook::counter_of(Released released) const {
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
__attribute__((cold)) void TotalsBook::undo(TotalsState& state, uint64_t tagged_address) {
  const uint64_t address = wire::record_address(tagged_address);
  const Released released = state.released;
  state.released = Released::kNothing;
  if (released == Released::kNothing || state.address != address) return;
  if (released != Released::kBlock) {
    counter_of(released)->fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  uint64_t before = 0;
  if (blocks_.insert_anywhere(address, state.where, before) == LiveBlocks::Insert::kFull)
    return not_placed(state, entry_number(state.where), LiveBlocks::Insert::kFull, 0);
  count_rare_release(state, state.where, kMinusOne);
  wire::TotalsEntry& entry = entry_of(state.where);
  count_thread_release(state, entry, kMinusOne);
  if (state.was_temporary) add(entry.temporary, kMinusOne, owns(state, entry));
  if (state.was_mismatched) rare_of(state.where).mismatched.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace heaptap::agent
