#include "agent/core/streams.h"

#include "agent/core/clock.h"
#include "agent/core/kernel.h"
#include "agent/core/pieces.h"
#include "agent/core/session.h"
#include "common/wire/log_streams.h"

// How a thread gets room to write is in common/wire/log_streams.h; here is which thread has which stream, and for how long.
// Nobody says when a thread ends: its destructors allocate to the very end. So where states have become many, one thread sweeps:
// it asks the kernel for each thread, and ends the streams of those that are gone. Memory of states is never given back, only used
// again, since a signal handler may be in the middle of any of this. It may also leave by longjmp: then a level
// stays behind, and end_levels_below() ends it as soon as a stack proves that nothing of it can still run.
namespace heaptap::agent {

constinit Pieces g_pieces{};

namespace {

// All states ever allocated, for reuse after the end of their threads.
struct Registry {
  std::atomic<ThreadState*> known;
  std::atomic<uint32_t> in_use;
  std::atomic<uint32_t> sweep_at;  // sweep for ended threads at this number
  std::atomic<uint32_t> sweeping;
  std::atomic<uint32_t> unused;  // minimum number of reusable states
};
constinit Registry g_registry{};
constexpr uint32_t kFirstSweep = 32;
constexpr uint32_t kUnknownThread = 0;  // such a state stays in use to the end

// The session's log, as written by the program's threads.
struct SessionLog {
  static wire::LogHeader& header() { return *g_session.log; }
  static const wire::LogLayout& layout() { return g_session.layout.log; }
  static wire::StreamSlot& slot(uint32_t index) { return g_session.slots[index]; }
  static wire::ChunkHeader& chunk(uint32_t index) {
    return *reinterpret_cast<wire::ChunkHeader*>(g_session.chunks.items() + size_t{index} * wire::kChunkBytes);
  }
  static bool gets_chunk(uint32_t index) { return g_session.chunks.gets(index, g_session.log->usable_chunks); }
  static uint64_t time_in_order() { return read_time_in_order(); }
  static bool may_call() { return agent::may_call(); }
  static bool wait(const std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds) {
    return kernel::futex_wait(&word, value, milliseconds) != kernel::kInterrupted;
  }
  static void wake(const std::atomic<uint32_t>& word) { kernel::futex_wake(&word); }
  static void relax() { arch::native::relax(); }
};
constinit wire::LogStreams<SessionLog> g_streams{};

void give_back(ThreadState& state) {
  state.in_use.store(0, std::memory_order_release);
  g_registry.unused.fetch_add(1, std::memory_order_release);
}

void end_stream(ThreadState& state) {
  if (state.chunk != nullptr) {
    g_streams.end(state);
  } else {
    g_streams.set_free(*state.slot);  // the collector never knew of it
  }
  g_registry.in_use.fetch_sub(1, std::memory_order_relaxed);
  give_back(state);
}

// Ends the streams of threads that have exited. There is no notification of a thread's exit that is late enough:
// destructors of thread-local objects allocate until the very end.
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

// 0: it has none yet.
uint32_t thread_number_of(const ThreadAnchor& anchor) {
  for (const ThreadState* state : anchor.states) {
    if (state != nullptr && state->slot != nullptr) return state->slot->thread_number;
  }
  return 0;
}

bool begin_events(ThreadState& state, uint32_t number, uint64_t earliest) {
  if (!g_streams.begin(state, {.id = state.thread_id, .number = number}, earliest)) return false;
  state.owner = LastWriterTable::owner_of(static_cast<uint32_t>(state.slot - g_session.slots));
  return true;
}

// For totals: with a slot of the thread's own, which no other side reads.
bool begin_totals(const ThreadAnchor& anchor, ThreadState& state) {
  if (state.totals == nullptr) state.totals = static_cast<TotalsState*>(g_pieces.take(sizeof(TotalsState)));
  if (state.totals == nullptr) return false;
  const uint32_t known = thread_number_of(anchor);
  const uint32_t number = known != 0 ? known : g_streams.next_thread_number();
  state.slot = &state.totals->slot;
  state.slot->thread_id = state.thread_id;
  state.slot->thread_number = number;
  state.chunk = nullptr;
  state.cursor = state.end = nullptr;
  g_session.totals.begin_thread(*state.totals, number, state.thread_id);
  return true;
}

// The thread that the state is for: in a child that shares memory (vfork) the parent's, from its control block. If that
// is unknown, the kernel is asked, which returns the child's; the child exits earlier.
uint32_t number_of_thread() {
  const uint32_t noted = g_session.knows_thread_place ? platform::thread_number_in_block() : 0;
  if (noted != 0 || !may_call()) return noted;
  return kernel::process_id() == g_session.process ? kernel::thread_id() : kUnknownThread;
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
  g_streams.restart();
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
  state->thread_id = number_of_thread();
  state->call_stack.begin();
  state->time_uses = 0;
  if (!(g_session.totals.is_on() ? begin_totals(anchor, *state) : begin_events(*state, thread_number_of(anchor), 0))) {
    give_back(*state);
    count_lost_without_stream();
    return nullptr;
  }
  registry.in_use.fetch_add(1, std::memory_order_relaxed);
  state->in_use.store(1, std::memory_order_release);
  return state;
}

__attribute__((noinline)) bool next_chunk(ThreadState& state, uint64_t earliest) {
  if (state.chunk == nullptr) {
    if (begin_events(state, state.slot->thread_number, earliest)) return true;  // instead of totals
    count_lost_without_stream();
    return false;
  }
  g_session.unwind.look_for_rows();  // for a thread whose stacks are all known
  return g_streams.next_chunk(state, earliest);
}

void end_streams(ThreadAnchor& anchor) {
  if (anchor.session != g_session.number || anchor.level != 0) return;
  for (ThreadState*& state : anchor.states) {
    if (state != nullptr && state->slot != nullptr && state->in_use.load(std::memory_order_relaxed) == 1)
      end_stream(*state);
    state = nullptr;
  }
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
  Sampler::forget(anchor_);
  // The remaining stream of this level becomes the thread's own.
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
  // Later records of the levels below get later times than this.
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
