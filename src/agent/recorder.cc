#include "agent/recorder.h"

#include "agent/clock.h"
#include "agent/session.h"
#include "agent/streams.h"

namespace heaptap::agent {
namespace {

// A record's time fits 32 bits: when the chunk's base is too long ago, a clock note sets a new one.
void write_clock_note(ThreadState& state, uint64_t now) {
  struct {
    wire::Record head;
    uint64_t clock;
  } note{
      {0, sizeof(uint64_t), wire::make_what(wire::RecordKind::kNote, static_cast<uint8_t>(wire::NoteKind::kClock), 0)},
      now};
  __builtin_memcpy(state.cursor, &note, sizeof(note));
  state.cursor += sizeof(note);
  state.base_time = now;
}

// The time of a record. While the process has but one thread, the order of its records says all about their order in time,
// so that the clock, which costs as much as everything else here, is read for every few of them only.
inline uint64_t time_for(ThreadState& state) {
  constexpr uint32_t kUses = 8;
  constexpr uint64_t kDenseTicks = 40'000;  // a few records in that time: they come close together
  if (state.time_uses != 0 && g_session.log->thread_count.load(std::memory_order_relaxed) == 1 &&
      g_session.log->coarse_clock.load(std::memory_order_relaxed) <= state.last_time) {
    --state.time_uses;
    return state.last_time;
  }
  const uint64_t now = read_time();
  state.time_uses = now - state.last_time < kDenseTicks ? kUses : 0;
  state.last_time = now;
  return now;
}

// An event of a block, in the totals. Releases need no stack: who allocated the block has one.
inline void count(StreamHold& hold, ThreadState& state, const Observation& observation, uint32_t stack) {
  TotalsBook& totals = g_session.totals;
  if (observation.kind == wire::RecordKind::kAllocate)
    return totals.allocate(state.totals, hold.anchor(), observation, stack);
  if (observation.kind == wire::RecordKind::kRelease) return totals.release(state.totals, hold.anchor(), observation);
  totals.undo(state.totals, observation);
}

bool is_omitted(uintptr_t return_address) {
  const Module* module = g_session.unwind.modules.find(return_address - 1);
  return module != nullptr && module->omitted;
}

}  // namespace

inline __attribute__((always_inline)) void record_in(StreamHold& hold, const Observation& observation,
                                                     const CallSite& site) {
  Session& session = g_session;
  if (session.omits && is_omitted(site.return_address)) return;
  ThreadState* state = hold.state();
  if (state == nullptr) [[unlikely]]
    return;

  // The loader allocates whenever objects come or go: time to look at what changed.
  if (session.loader_code.holds(site.return_address) && session.unwind.modules.changed()) [[unlikely]] {
    session.unwind.refresh_modules();
  }
  const bool counts = session.totals.is_on() && observation.kind <= wire::RecordKind::kUndo;
  if (counts && observation.kind != wire::RecordKind::kAllocate && !hold.is_nested()) {
    return count(hold, *state, observation, 0);
  }
  const Frame caller{.slot = site.slot,
                     .key = site.return_address & wire::kCodeAddressMask,
                     .sp = site.slot + sizeof(uintptr_t),
                     .fp = site.fp,
                     .fp_slot = 0};
  CallStack& call_stack = state->call_stack;
  if (hold.is_nested()) [[unlikely]]
    call_stack.reset();
  const uint32_t stack = call_stack.capture(session.unwind, caller, site.slot);
  if (hold.is_nested() && call_stack.is_known_whole() && !call_stack.passes(session.own_code)) [[unlikely]] {
    hold.end_levels_below();
  }
  if (counts) return count(hold, *state, observation, stack);

  constexpr uint32_t kMostBytes = sizeof(wire::SizedRecord) + sizeof(wire::Record) + sizeof(uint64_t);
  if (static_cast<size_t>(state->end - state->cursor) < kMostBytes) [[unlikely]] {
    if (!next_chunk(*state, kMostBytes)) return;
  }
  const uint64_t now = observation.time != 0 ? observation.time : time_for(*state);
  uint64_t ticks = now - state->base_time;
  if (ticks > UINT32_MAX) [[unlikely]] {
    if (now < state->base_time) {
      ticks = 0;  // an earlier time that was taken before the chunk was begun
    } else {
      write_clock_note(*state, now);
      ticks = 0;
    }
  }
  const uint64_t what =
      wire::make_what(observation.kind, static_cast<uint8_t>(observation.function), observation.address);
  auto* to = reinterpret_cast<wire::SizedRecord*>(state->cursor);
  to->head.time = static_cast<uint32_t>(ticks);
  to->head.stack = stack;
  to->head.what = what;
  to->size_bytes = observation.size_bytes;
  state->cursor += wire::record_bytes(observation.kind);
  const auto committed = static_cast<uint32_t>(state->cursor - reinterpret_cast<uint8_t*>(state->chunk));
  state->chunk->committed.store(committed, std::memory_order_release);  // pairs with the collector's acquire
}

void record(ThreadAnchor& anchor, const Observation& observation, const CallSite& site) {
  StreamHold hold(anchor);
  record_in(hold, observation, site);
}

void record_held(StreamHold& hold, const Observation& observation, const CallSite& site) {
  record_in(hold, observation, site);
}

}  // namespace heaptap::agent
