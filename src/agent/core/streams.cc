#include "agent/core/streams.h"

#include "agent/core/clock.h"
#include "agent/core/kernel.h"
#include "agent/core/pieces.h"
#include "agent/core/session.h"

// How a thread gets room to write, without locks. A stream is a slot, claimed by compare-and-exchange, and a list of chunks. Free
// chunks are a stack in the log (its head carries a tag against ABA), and fresh ones are counted up; both end where the
// collector allows no more yet. Where there is none, a thread waits on the futex that the collector counts up as it gives back, as
// long as that moves; once a wait was in vain nobody waits again until it does. The last commit in a chunk comes before its
// `next`, which the reader loads first: so a chunk with a `next` is whole.
// Nobody says when a thread ends: its destructors allocate to the very end. So where states have become many, one thread sweeps:
// it asks the kernel for each thread, and ends the streams of those that are gone. Memory of states is never given back, only used
// again, since a signal handler may be in the middle of any of this. It may also leave by longjmp: then a level
// stays behind, and end_levels_below() ends it as soon as a stack proves that nothing of it can still run.
namespace heaptap::agent {

constinit Pieces g_pieces{};

namespace {

// All states that were ever made, for reuse when their threads have ended.
struct Registry {
  std::atomic<ThreadState*> known;
  std::atomic<uint32_t> in_use;
  std::atomic<uint32_t> sweep_at;  // look for ended threads when that many are in use
  std::atomic<uint32_t> sweeping;
  std::atomic<uint32_t> unused;      // states that may be reused, at least
  std::atomic<uint32_t> gave_up_at;  // a wait was in vain when `chunks_returned` said this; kNeverWaited: none was
};
constinit Registry g_registry{};
constexpr uint32_t kFirstSweep = 32;
constexpr uint32_t kNeverWaited = UINT32_MAX;
constexpr uint32_t kUnknownThread = 0;  // such a state stays in use to the end

void give_back(ThreadState& state) {
  state.in_use.store(0, std::memory_order_release);
  g_registry.unused.fetch_add(1, std::memory_order_release);
}

void end_stream(ThreadState& state) {
  // Without a chunk the collector never heard of it.
  const wire::StreamState next = state.chunk != nullptr ? wire::StreamState::kEnded : wire::StreamState::kFree;
  state.slot->state.store(static_cast<uint32_t>(next), std::memory_order_release);
  g_registry.in_use.fetch_sub(1, std::memory_order_relaxed);
  give_back(state);
}

// Ends the streams of threads that are gone. No notice of a thread's end is needed for it, and none could be had that is
// late enough: destructors of thread-local objects allocate until the very end.
void sweep() {
  Registry& registry = g_registry;
  if (!may_call()) return;
  if (registry.sweeping.exchange(1, std::memory_order_acquire) != 0) return;
  uint32_t living = 0;
  for (ThreadState* state = registry.known.load(std::memory_order_acquire); state != nullptr;
       state = state->next_known) {
    if (state->in_use.load(std::memory_order_acquire) != 1) continue;
    if (state->thread_id == kUnknownThread || kernel::thread_lives(g_session.process, state->thread_id)) {
      ++living;
    } else {
      end_stream(*state);
    }
  }
  registry.sweep_at.store(living * 2 > kFirstSweep ? living * 2 : kFirstSweep, std::memory_order_relaxed);
  registry.sweeping.store(0, std::memory_order_release);
}

ThreadState* reuse_state() {
  if (g_registry.unused.load(std::memory_order_acquire) == 0) return nullptr;
  for (ThreadState* state = g_registry.known.load(std::memory_order_acquire); state != nullptr;
       state = state->next_known) {
    uint32_t free = 0;
    if (state->in_use.load(std::memory_order_relaxed) == 0 &&
        state->in_use.compare_exchange_strong(free, 2, std::memory_order_acq_rel)) {
      g_registry.unused.fetch_sub(1, std::memory_order_relaxed);
      return state;
    }
  }
  return nullptr;
}

ThreadState* make_state() {
  auto* state = static_cast<ThreadState*>(g_pieces.take(sizeof(ThreadState)));
  if (state == nullptr) return nullptr;
  state->in_use.store(2, std::memory_order_relaxed);
  ThreadState* head = g_registry.known.load(std::memory_order_relaxed);
  do {
    state->next_known = head;
  } while (!g_registry.known.compare_exchange_weak(head, state, std::memory_order_acq_rel));
  return state;
}

wire::StreamSlot* claim_slot() {
  wire::LogHeader& log = *g_session.log;
  const uint32_t count = g_session.layout.log.slot_count;
  const uint32_t start = log.free_slot_hint.load(std::memory_order_relaxed) % count;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t index = start + i < count ? start + i : start + i - count;
    wire::StreamSlot& slot = g_session.slots[index];
    auto free = static_cast<uint32_t>(wire::StreamState::kFree);
    if (slot.state.load(std::memory_order_relaxed) == free &&
        slot.state.compare_exchange_strong(free, static_cast<uint32_t>(wire::StreamState::kClaimed),
                                           std::memory_order_acq_rel)) {
      log.free_slot_hint.store(index + 1, std::memory_order_relaxed);
      uint32_t used = log.slots_used.load(std::memory_order_relaxed);
      while (used <= index && !log.slots_used.compare_exchange_weak(used, index + 1, std::memory_order_acq_rel)) {
      }
      return &slot;
    }
  }
  return nullptr;
}

wire::ChunkHeader* chunk_at(uint32_t index) {
  uint8_t* chunks = g_session.chunks.load(std::memory_order_acquire);
  return reinterpret_cast<wire::ChunkHeader*>(chunks + size_t{index} * wire::kChunkBytes);
}

uint32_t pop_returned_chunk() {
  wire::LogHeader& log = *g_session.log;
  uint64_t head = log.free_chunks.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(head) < g_session.mapped_chunks.load(std::memory_order_acquire)) {
    const auto index = static_cast<uint32_t>(head);
    const uint64_t next = chunk_at(index)->free_link.load(std::memory_order_relaxed) | ((head >> 32) + 1) << 32;
    if (log.free_chunks.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return index;
  }
  return wire::kNoChunk;
}

// One that was never used yet.
uint32_t take_fresh_chunk() {
  wire::LogHeader& log = *g_session.log;
  uint32_t fresh = log.fresh_chunks.load(std::memory_order_relaxed);
  while (fresh < g_session.mapped_chunks.load(std::memory_order_acquire) || map_more_chunks(fresh)) {
    if (log.fresh_chunks.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) return fresh;
  }
  return wire::kNoChunk;
}

// A free chunk's index, or kNoChunk.
uint32_t pop_chunk() {
  const uint32_t returned = pop_returned_chunk();
  return returned != wire::kNoChunk ? returned : take_fresh_chunk();
}

// How long a thread has waited for the collector without its having given anything back. It goes by waits that ran out: a
// clock may be forbidden. One that a signal cut short counts little, and those after it are short, so that no timer of the
// program makes this endless.
class WaitForRoom {
 public:
  explicit WaitForRoom(const wire::LogHeader& log)
      : log_(log), returned_(log.chunks_returned.load(std::memory_order_acquire)) {}

  [[nodiscard]] uint32_t returned() const { return returned_; }

  // Waits for a moment, or until something was given back. False: nothing was for too long.
  bool goes_on() {
    if (!may_call()) return looks_again();
    const long result = kernel::futex_wait(&log_.chunks_returned, returned_, slice_ms_);
    const uint32_t now = log_.chunks_returned.load(std::memory_order_acquire);
    if (now != returned_) {
      returned_ = now;
      idle_us_ = 0;
    } else {
      constexpr uint32_t kCutShortUs = 50;
      idle_us_ += result == kernel::kInterrupted ? kCutShortUs : slice_ms_ * 1000;
    }
    if (result == kernel::kInterrupted) slice_ms_ = 1;
    return idle_us_ < g_session.layout.log.overflow_wait_ms * 1000;
  }

 private:
  // Where no system call may be made: some milliseconds in all, whatever is given back meanwhile, as they are the program's.
  bool looks_again() {
    constexpr uint32_t kMaxLooks = 100'000;  // of 40 to 140 processor cycles each
    while (looks_++ < kMaxLooks) {
      const uint32_t now = log_.chunks_returned.load(std::memory_order_acquire);
      if (now != returned_) {
        returned_ = now;
        return true;
      }
      arch::native::relax();
    }
    return false;
  }

  const wire::LogHeader& log_;
  uint32_t returned_;
  uint32_t slice_ms_ = 10;
  uint32_t idle_us_ = 0;
  uint32_t looks_ = 0;
};

// What `attempt` gives, tried again until it isn't `nothing`, as long as the user chose to wait and the collector moves. Once a
// wait was in vain, others give up at once until the collector gave something back.
template <typename T, typename Attempt>
T claim(T nothing, const Attempt& attempt) {
  wire::LogHeader& log = *g_session.log;
  T claimed = attempt();
  if (claimed != nothing || g_session.layout.log.overflow_policy != wire::OverflowPolicy::kWait) return claimed;
  WaitForRoom wait(log);
  if (g_registry.gave_up_at.load(std::memory_order_relaxed) == wait.returned()) return claimed;
  // What was given back before the wait began is there now.
  for (claimed = attempt(); claimed == nothing; claimed = attempt()) {
    if (!wait.goes_on()) break;
  }
  if (claimed == nothing) {
    g_registry.gave_up_at.store(wait.returned(), std::memory_order_relaxed);
    log.waits_in_vain.fetch_add(1, std::memory_order_relaxed);
  }
  return claimed;
}

// The log fills while the collector rests: it is woken, once a rest.
void note_use(wire::LogHeader& log) {
  const uint32_t used = log.used_chunks.fetch_add(1, std::memory_order_relaxed) + 1;
  if (used < log.wake_threshold.load(std::memory_order_relaxed) || !may_call()) [[likely]]
    return;
  if (log.wake_threshold.exchange(wire::kNeverWake, std::memory_order_relaxed) == wire::kNeverWake) return;
  log.rings.fetch_add(1, std::memory_order_release);
  kernel::futex_wake(&log.rings);
}

// Nothing is being recorded while a thread waits: the collector needn't wait for it in turn.
uint32_t claim_chunk(wire::StreamSlot& slot) {
  wire::end_activity(slot);
  const uint32_t index = claim(wire::kNoChunk, pop_chunk);
  wire::begin_activity(slot);
  if (index != wire::kNoChunk) note_use(*g_session.log);
  return index;
}

wire::ChunkHeader* begin_chunk(ThreadState& state, uint32_t index, uint64_t earliest) {
  wire::ChunkHeader* chunk = chunk_at(index);
  chunk->next.store(0, std::memory_order_relaxed);
  // In order: where a shared reading is older, this stands for it, and must be from before the look at the place's owner.
  state.base_time = chunk->base_time = earliest != 0 ? earliest : read_time_in_order();
  chunk->committed.store(sizeof(wire::ChunkHeader), std::memory_order_release);
  state.chunk = chunk;
  state.cursor = reinterpret_cast<uint8_t*>(chunk + 1);
  state.end = reinterpret_cast<uint8_t*>(chunk) + wire::kChunkBytes;
  return chunk;
}

uint32_t thread_number_of(const ThreadAnchor& anchor) {
  for (const ThreadState* state : anchor.states) {
    if (state != nullptr && state->slot != nullptr) return state->slot->thread_number;
  }
  return g_session.log->thread_count.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool begin_first_chunk(ThreadState& state, uint64_t earliest) {
  wire::StreamSlot& slot = *state.slot;
  const uint32_t index = claim_chunk(slot);
  if (index == wire::kNoChunk) return false;
  begin_chunk(state, index, earliest);
  slot.first_chunk = index;
  slot.lost_events.store(0, std::memory_order_relaxed);
  slot.started_at.store(state.base_time, std::memory_order_relaxed);
  slot.state.store(static_cast<uint32_t>(wire::StreamState::kActive), std::memory_order_release);
  return true;
}

wire::StreamSlot* claim_slot_in_time() { return claim<wire::StreamSlot*>(nullptr, claim_slot); }

bool attach_slot(ThreadState& state, wire::StreamSlot* slot, uint32_t number, uint64_t earliest) {
  state.slot = slot;
  state.owner = LastWriterTable::owner_of(static_cast<uint32_t>(slot - g_session.slots));
  state.takes = 0;
  wire::begin_activity(*slot);
  slot->thread_id = state.thread_id;
  slot->thread_number = number;
  if (begin_first_chunk(state, earliest)) return true;
  slot->state.store(static_cast<uint32_t>(wire::StreamState::kFree), std::memory_order_release);
  return false;
}

bool begin_events(const ThreadAnchor& anchor, ThreadState& state) {
  wire::StreamSlot* const slot = claim_slot_in_time();
  return slot != nullptr && attach_slot(state, slot, thread_number_of(anchor), 0);
}

// Where totals are kept: with a slot of the thread's own, which no other side looks at.
bool begin_totals(const ThreadAnchor& anchor, ThreadState& state) {
  if (state.totals == nullptr) state.totals = static_cast<TotalsState*>(g_pieces.take(sizeof(TotalsState)));
  if (state.totals == nullptr) return false;
  const uint32_t number = thread_number_of(anchor);
  state.slot = &state.totals->slot;
  state.slot->thread_id = state.thread_id;
  state.slot->thread_number = number;
  state.chunk = nullptr;
  state.cursor = state.end = nullptr;
  g_session.totals.begin_thread(*state.totals, number, state.thread_id);
  return true;
}

// Of one that keeps totals, in the middle of an event.
bool begin_records(ThreadState& state, uint64_t earliest) {
  wire::StreamSlot* const own = state.slot;
  wire::StreamSlot* const slot = claim_slot_in_time();
  if (slot == nullptr) return false;
  if (attach_slot(state, slot, own->thread_number, earliest)) return true;
  state.slot = own;
  return false;
}

void count_lost_without_stream() { g_session.log->lost_events.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void start_streams() {
  Registry& registry = g_registry;
  registry.known.store(nullptr, std::memory_order_relaxed);  // a forked child leaves its parent's states behind
  registry.in_use.store(0, std::memory_order_relaxed);
  registry.sweep_at.store(kFirstSweep, std::memory_order_relaxed);
  registry.sweeping.store(0, std::memory_order_relaxed);
  registry.unused.store(0, std::memory_order_relaxed);
  registry.gave_up_at.store(kNeverWaited, std::memory_order_relaxed);
}

__attribute__((noinline)) ThreadState* open_stream(ThreadAnchor& anchor) {
  Registry& registry = g_registry;
  if (registry.in_use.load(std::memory_order_relaxed) >= registry.sweep_at.load(std::memory_order_relaxed)) sweep();
  ThreadState* state = reuse_state();
  if (state == nullptr) state = make_state();
  if (state == nullptr) {
    count_lost_without_stream();
    return nullptr;
  }
  // In a child that shares memory (vfork) it is the child's id, which ends before the thread does whose state this is.
  const bool is_elsewhere = may_call() && kernel::process_id() != g_session.process;
  state->thread_id = is_elsewhere ? kUnknownThread : thread_id();
  state->call_stack.begin();
  state->time_uses = 0;
  if (!(g_session.totals.is_on() ? begin_totals(anchor, *state) : begin_events(anchor, *state))) {
    give_back(*state);
    count_lost_without_stream();
    return nullptr;
  }
  registry.in_use.fetch_add(1, std::memory_order_relaxed);
  state->in_use.store(1, std::memory_order_release);
  return state;
}

__attribute__((noinline)) bool next_chunk(ThreadState& state, uint32_t bytes, uint64_t earliest) {
  if (state.chunk == nullptr) {
    if (begin_records(state, earliest)) return true;
    count_lost_without_stream();
    return false;
  }
  const uint32_t index = claim_chunk(*state.slot);
  if (index == wire::kNoChunk) {
    state.slot->lost_events.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  constexpr uint32_t kMaxTakes = wire::kChunkBytes / sizeof(wire::Record) / 6;  // of its records, where owners pay
  if (state.takes > kMaxTakes) g_session.owners.give_up();
  state.takes = 0;
  wire::ChunkHeader* before = state.chunk;
  begin_chunk(state, index, earliest);
  before->next.store(index + 1, std::memory_order_release);  // pairs with the collector's acquire
  return bytes <= static_cast<uint32_t>(state.end - state.cursor);
}

void forget_stack_memory(uintptr_t begin, uintptr_t end, uintptr_t sp) {
  if (g_session_page.state.load(std::memory_order_relaxed) != SessionState::kRecording) return;
  ThreadAnchor& anchor = platform::thread_anchor();
  if (anchor.session != g_session.number) return;
  for (ThreadState* state : anchor.states) {
    if (state != nullptr) state->call_stack.forget_memory(begin, end, sp);
  }
}

void StreamHold::end_levels_below() {
  const uint32_t own = anchor_.level - 1;
  for (uint32_t level = 0; level < own; ++level) {
    ThreadState* state = anchor_.states[level];
    anchor_.states[level] = nullptr;
    if (state != nullptr && state->slot != nullptr && state->in_use.load(std::memory_order_relaxed) == 1) {
      wire::end_activity(*state->slot);
      end_stream(*state);
    }
  }
  // What is left is this level's stream: it becomes the thread's own.
  anchor_.ready_for = 0;
  anchor_.states[0] = state_;
  anchor_.states[own] = nullptr;
  anchor_.level = 1;
  level_ = 0;
}

__attribute__((noinline)) ThreadState* StreamHold::begin() {
  ThreadAnchor& anchor = anchor_;
  if (anchor.session != g_session.number) [[unlikely]] {  // a new thread, or a forked child's first event
    anchor.ready_for = 0;
    anchor.session = g_session.number;
    anchor.level = 0;
    for (ThreadState*& state : anchor.states) state = nullptr;
  }
  const uint32_t level = anchor.level;
  if (level >= ThreadAnchor::kLevels) [[unlikely]] {
    count_lost_without_stream();
    return nullptr;
  }
  level_ = level;
  anchor.level = level + 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  // What the levels below record from here on comes later than this.
  for (uint32_t below = 0; below < level; ++below) {
    if (anchor.states[below] != nullptr) anchor.states[below]->time_uses = 0;
  }
  ThreadState* state = anchor.states[level];
  if (state == nullptr) state = anchor.states[level] = open_stream(anchor);
  if (state == nullptr) {
    anchor.level = level;
    return nullptr;
  }
  wire::begin_activity(*state->slot);
  return state;
}

}  // namespace heaptap::agent
