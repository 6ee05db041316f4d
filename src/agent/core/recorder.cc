#include "agent/core/recorder.h"

#include "agent/core/clock.h"
#include "agent/core/labels.h"
#include "agent/core/session.h"
#include "agent/core/streams.h"
#include "agent/core/string.h"
#include "common/arch/native.h"

namespace heaptap::agent {
namespace {

inline bool is_alone() { return g_session.log->thread_count.load(std::memory_order_relaxed) == 1; }

// A reading as the owner of the block's place. 0: there are no owners, or others became the owner repeatedly.
uint64_t read_as_owner(ThreadState& state, uint64_t address) {
  constexpr int kMaxTries = 8;
  LastWriterTable& owners = g_session.owners;
  for (int i = 0; i < kMaxTries && owners.are_worthwhile(); ++i) {
    if (!owners.is(address, state.owner)) owners.take(address, state.owner);
    const uint64_t now = read_time_in_order();
    if (owners.is(address, state.owner)) return now;
  }
  return 0;
}

// A new reading, for the event of a block and for a few that follow.
__attribute__((noinline)) uint64_t read_for(ThreadState& state, uint64_t tagged_address) {
  constexpr uint32_t kUses = 32;
  constexpr uint64_t kDenseTicks = 10'000;  // a few records in that time: they come close together
  const bool alone = is_alone();
  uint64_t now = alone ? read_time() : read_as_owner(state, wire::record_address(tagged_address));
  const bool usable = now != 0 && state.owner != LastWriterTable::kNobody;
  if (now == 0) {
    g_session.owners.give_up();  // the owner of the place in between could share a reading older than this one
    // An allocation with a reading from before the release that made it possible is moved after that (EventCoder). A
    // release with a reading from before the allocation would count as a bad one.
    now = wire::record_kind(tagged_address) == wire::RecordKind::kAllocate ? read_time() : read_time_behind();
  }
  state.time_uses = usable && now - state.last_time < kDenseTicks ? kUses : 0;
  state.last_time = now;
  return now;
}

// The time of a record. Within a stream the order of records suffices, so the clock, which costs as much as everything
// else here, is only read for a few of them, as long as no other stream uses their blocks.
inline __attribute__((always_inline)) uint64_t time_for(ThreadState& state, uint64_t tagged_address) {
  if (state.time_uses == 0 || g_session.log->coarse_clock.load(std::memory_order_relaxed) > state.last_time ||
      !(is_alone() || g_session.owners.is(wire::record_address(tagged_address), state.owner))) {
    return read_for(state, tagged_address);
  }
  --state.time_uses;
  return state.last_time;
}

// If there is room for it.
inline __attribute__((always_inline)) void put_record(ThreadState& state, uint64_t tagged_address, uint64_t size_bytes,
                                                      uint32_t ticks, uint32_t stack) {
  constexpr size_t kPrefetchBytes = 256;  // the collector's processor has prefetched the lines: they are slow to access
  const uint8_t* const next = wire::place_record(state, tagged_address, size_bytes, ticks, stack);
  arch::native::prefetch_for_write(next + kPrefetchBytes);
  wire::commit(state);
}

// `time` 0: now.
inline void write_event(ThreadState& state, uint64_t tagged_address, uint64_t size_bytes, uint64_t time,
                        uint32_t stack) {
  if (!wire::has_room(state)) [[unlikely]] {
    if (!next_chunk(state, time)) return;
  }
  const bool is_mapping = wire::record_kind(tagged_address) > wire::RecordKind::kUndo;
  if (time == 0 && is_mapping) time = read_time_in_order();  // parts of mappings have addresses of their own
  const uint64_t now = time != 0 ? time : time_for(state, tagged_address);
  put_record(state, tagged_address, size_bytes, wire::ticks_at(state, now), stack);
}

inline bool allocates(wire::RecordKind kind) {
  return kind == wire::RecordKind::kAllocate || kind == wire::RecordKind::kMap;
}

// The stack of an event, under the tags of its thread, for an allocation.
inline __attribute__((always_inline)) uint32_t tagged(const ThreadAnchor& anchor, wire::RecordKind kind,
                                                      uint32_t stack) {
  const Label* const tag = anchor.tag;
  if (tag == nullptr) [[likely]]
    return stack;
  return allocates(kind) ? g_session.unwind.trie.with_label(stack, tag->number) : stack;
}

inline uint64_t tagged_address_of(const Observation& observation) {
  return wire::make_tagged_address(observation.kind, static_cast<uint8_t>(observation.function), observation.address);
}

// An event of a block, in the totals. Releases need no stack: the block's allocation has one.
inline void count(StreamHold& hold, ThreadState& state, const Observation& observation, uint32_t stack) {
  TotalsBook& totals = g_session.totals;
  const uint64_t block = tagged_address_of(observation);
  if (observation.kind == wire::RecordKind::kAllocate)
    return totals.allocate(*state.totals, hold.anchor(), block, observation.size_bytes, stack);
  if (observation.kind == wire::RecordKind::kRelease)
    return totals.release(*state.totals, hold.anchor(), block, TotalsBook::Blocks::kAll);
  totals.undo(*state.totals, block);
}

// Recording is switched off, and the event doesn't end anything recorded. Changes by the loader are noticed all the
// same: afterwards other objects may have these addresses.
inline bool is_passed_over(wire::RecordKind kind, uintptr_t return_address) {
  return !wire::is_recorded(*g_session.log, kind) && !g_session.loader_code.holds(return_address);
}

// An event while recording is switched off. With its own time: the switch was recorded in another stream, and this must
// come after it.
__attribute__((noinline)) void record_end(StreamHold& hold, ThreadState& state, const Observation& observation,
                                          bool counts) {
  constexpr auto kNoStack = static_cast<uint32_t>(wire::StackEnd::kNotUnwound);
  if (counts && observation.kind == wire::RecordKind::kRelease)
    return g_session.totals.release(*state.totals, hold.anchor(), tagged_address_of(observation),
                                    TotalsBook::Blocks::kKnown);
  if (counts) return g_session.totals.undo(*state.totals, tagged_address_of(observation));
  state.time_uses = 0;
  write_event(state, tagged_address_of(observation), observation.size_bytes, observation.time, kNoStack);
}

inline Frame frame_at(const CallSite& site) {
  Frame frame;
  frame.slot = site.slot();
  frame.key = site.return_address() & wire::kCodeAddressMask;
  frame.sp = site.sp();
  frame.fp = site.fp();
  return frame;
}

// Whether at most the caller is recorded of such events.
inline bool is_short(wire::RecordKind kind) { return (g_session.short_kinds >> static_cast<unsigned>(kind) & 1u) != 0; }

// Another end than kNotUnwound, which marks releases while recording is switched off, which are no errors.
constexpr auto kNoFrames = static_cast<uint32_t>(wire::StackEnd::kDepthLimit);

inline bool is_without_stack(wire::RecordKind kind) {
  return kind == wire::RecordKind::kRelease && (g_session.flags & wire::kNoReleaseStacks) != 0;
}

// The stack of an event whose kind is_short(); 0: unknown, as of the loader's events, which all need a look.
inline __attribute__((always_inline)) uint32_t find_short(const CallStack& call_stack, wire::RecordKind kind,
                                                          const CallSite& site) {
  if (g_session.loader_code.holds(site.return_address())) [[unlikely]]
    return 0;
  if (is_without_stack(kind)) return kNoFrames;
  return call_stack.find_caller(site.return_address());
}

// The same, where it isn't known; the thread's next event is ready for the short way.
uint32_t name_short(CallStack& call_stack, wire::RecordKind kind, const CallSite& site) {
  if (is_without_stack(kind)) {
    call_stack.note_changes(g_session.unwind);
    return kNoFrames;
  }
  return call_stack.name_caller(g_session.unwind, site.return_address());
}

// One piece of code for its callers: heaptap-target, whose size is limited, carries the agent.
__attribute__((noinline)) uint32_t capture(CallStack& call_stack, CallSite site) {
  return call_stack.capture(g_session.unwind, frame_at(site), site.bottom());
}

bool is_omitted(uintptr_t return_address) {
  const Module* module = g_session.unwind.modules.find(return_address - 1);
  return module != nullptr && module->omitted;
}

}  // namespace

inline __attribute__((always_inline)) void record_in(StreamHold& hold, const Observation& observation,
                                                     const CallSite& site) {
  Session& session = g_session;
  const bool is_loader = session.loader_code.holds(site.return_address());
  if (is_loader) [[unlikely]]
    platform::note_loader_call();
  if (session.omits && is_omitted(site.return_address())) return;
  ThreadState* state = hold.state();
  if (state == nullptr) [[unlikely]]
    return;

  // The loader allocates whenever objects are loaded or unloaded: check for changes. Its stacks aren't cached, so each
  // of its events comes here.
  if (is_loader && session.unwind.modules.changed()) [[unlikely]]
    session.unwind.refresh_modules();
  const bool is_off = wire::is_switched_off(*session.log);
  if (is_off && !wire::is_recorded(*session.log, observation.kind)) [[unlikely]]
    return;
  const bool counts = session.totals.is_on() && observation.kind <= wire::RecordKind::kUndo;
  if (is_off) [[unlikely]]
    return record_end(hold, *state, observation, counts);
  if (counts && observation.kind != wire::RecordKind::kAllocate && !hold.is_nested()) {
    state->call_stack.note_changes(session.unwind);
    return count(hold, *state, observation, 0);
  }
  CallStack& call_stack = state->call_stack;
  if (hold.is_nested() || is_loader) [[unlikely]]
    call_stack.reset();
  const bool shortens = is_short(observation.kind);
  uint32_t stack = !shortens || hold.is_nested() ? capture(call_stack, site) : 0;
  if (hold.is_nested() && call_stack.is_known_whole() && !call_stack.passes(platform::own_code())) [[unlikely]] {
    hold.end_levels_below();
  }
  if (shortens) stack = name_short(call_stack, observation.kind, site);
  if (is_loader) call_stack.reset();
  // A signal handler may have interrupted the interpreter between two of its frames.
  if (session.interpreter != nullptr && allocates(observation.kind) && !shortens && !hold.is_nested()) {
    stack = session.interpreter->merge(stack);
  }
  if (observation.label != nullptr) {
    stack = session.unwind.trie.with_label(stack, observation.label->number);
  } else {
    stack = tagged(hold.anchor(), observation.kind, stack);
  }
  if (counts) return count(hold, *state, observation, stack);

  write_event(*state, tagged_address_of(observation), observation.size_bytes, observation.time, stack);
}

void record(ThreadAnchor& anchor, const Observation& observation, const CallSite& site) {
  if (is_passed_over(observation.kind, site.return_address())) [[unlikely]]
    return;
  StreamHold hold(anchor);
  record_held(hold, observation, site);
}

void record_held(StreamHold& hold, const Observation& observation, const CallSite& site) {
  record_in(hold, observation, site);
}

__attribute__((noinline)) void note_unrecorded_loader_call(ThreadAnchor& anchor) {
  platform::note_loader_call();
  StreamHold hold(anchor);
  if (hold.state() != nullptr && g_session.unwind.modules.changed()) g_session.unwind.refresh_modules();
}

namespace {

inline void begin_record(ThreadAnchor& anchor, ThreadState& state) {
  anchor.level = 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  wire::begin_activity(*state.slot);
}

inline void end_record(ThreadAnchor& anchor, ThreadState& state) {
  wire::end_activity(*state.slot);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  anchor.level = 0;
}

// Whether an event is recorded where blocks are sampled; counts it. Releases have been asked about before.
__attribute__((noinline)) bool is_chosen(ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes,
                                         CallSite site) {
  Sampler& sampler = g_session.sampler;
  if (wire::record_kind(tagged_address) != wire::RecordKind::kAllocate) return true;
  if (sampler.chooses(anchor, size_bytes) && sampler.add(own_address(wire::record_address(tagged_address)), size_bytes))
    return true;
  if (g_session.loader_code.holds(site.return_address())) [[unlikely]]
    note_unrecorded_loader_call(anchor);
  return false;
}

// Slow path of an event, and of all where blocks are sampled.
__attribute__((noinline)) void record_special(ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes,
                                              CallSite site) {
  if (g_session.is_sampled && !is_chosen(anchor, tagged_address, size_bytes, site)) return;
  const auto function = static_cast<wire::Function>(wire::record_function(tagged_address));
  record(anchor, {wire::record_kind(tagged_address), function, wire::record_address(tagged_address), size_bytes, 0},
         site);
  const Session& session = g_session;
  const ThreadState* state = anchor.states[0];
  if (session.is_plain && anchor.session == session.number && anchor.level == 0 && state != nullptr)
    anchor.ready_for = state->call_stack.seen_changes() ^ (session.totals.is_on() ? ThreadAnchor::kCounts : 0);
}

// An event that was begun; `stack` is 0 if it isn't the last one again.
__attribute__((noinline)) void record_begun(ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes,
                                            CallSite site, uint32_t stack) {
  ThreadState& state = *anchor.states[0];
  if (g_session.loader_code.holds(site.return_address())) [[unlikely]] {
    end_record(anchor, state);
    return record_special(anchor, tagged_address, size_bytes, site);
  }
  const wire::RecordKind kind = wire::record_kind(tagged_address);
  if (stack == 0) {
    stack = is_short(kind) ? name_short(state.call_stack, kind, site)
                           : state.call_stack.walk(g_session.unwind, frame_at(site), site.bottom());
  }
  write_event(state, tagged_address, size_bytes, 0, tagged(anchor, kind, stack));
  end_record(anchor, state);
}

// As begin_record(), for an event that writes nothing to the thread's stream, which may not exist.
inline void begin_count(ThreadAnchor& anchor) {
  anchor.level = 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

inline void end_count(ThreadAnchor& anchor) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  anchor.level = 0;
}

__attribute__((noinline)) void count_allocation(ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes,
                                                CallSite site) {
  ThreadState& state = *anchor.states[0];
  begin_count(anchor);
  const uint32_t stack = capture(state.call_stack, site);
  g_session.totals.allocate(*state.totals, anchor, tagged_address, size_bytes,
                            tagged(anchor, wire::RecordKind::kAllocate, stack));
  end_count(anchor);
}

// Fast path of most events of --aggregate, where record_block can't record.
__attribute__((noinline)) void count_block(ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes,
                                           CallSite site) {
  if (!anchor.is_ready_to_count(g_session.unwind.changes.value()) || g_session.loader_code.holds(site.return_address()))
      [[unlikely]]
    return record_special(anchor, tagged_address, size_bytes, site);
  if (wire::record_kind(tagged_address) == wire::RecordKind::kAllocate)
    return count_allocation(anchor, tagged_address, size_bytes, site);
  begin_count(anchor);
  g_session.totals.release(*anchor.states[0]->totals, anchor, tagged_address, TotalsBook::Blocks::kAll);
  end_count(anchor);
}

// Fast path of most events: each step that may call a function is in the two functions above. One piece of code for all
// kinds is more often in the processor's caches than two.
__attribute__((noinline)) void record_block(ThreadAnchor& anchor, uint64_t tagged_address, uint64_t size_bytes,
                                            CallSite site) {
  if (wire::is_switched_off(*g_session.log)) [[unlikely]] {
    const bool is_over = is_passed_over(wire::record_kind(tagged_address), site.return_address());
    if (is_over && !g_session.is_sampled) return;
    return record_special(anchor, tagged_address, size_bytes, site);
  }
  if (!anchor.is_ready(g_session.unwind.changes.value())) [[unlikely]]
    return count_block(anchor, tagged_address, size_bytes, site);
  ThreadState& state = *anchor.states[0];
  begin_record(anchor, state);
  const uint32_t stack = is_short(wire::record_kind(tagged_address))
                             ? find_short(state.call_stack, wire::record_kind(tagged_address), site)
                             : state.call_stack.find_known(frame_at(site));
  if (stack == 0 || !wire::has_room(state)) return record_begun(anchor, tagged_address, size_bytes, site, stack);
  const uint64_t ticks = time_for(state, tagged_address) - state.base_time;
  if (ticks > UINT32_MAX) [[unlikely]]
    return record_begun(anchor, tagged_address, size_bytes, site, stack);
  put_record(state, tagged_address, size_bytes, static_cast<uint32_t>(ticks),
             tagged(anchor, wire::record_kind(tagged_address), stack));
  end_record(anchor, state);
}

}  // namespace

void note_text(ThreadAnchor& anchor, wire::NoteKind kind, uint64_t address, const char* text) {
  if (g_session.log->recording_switch.load(std::memory_order_relaxed) ==
      static_cast<uint32_t>(wire::RecordingSwitch::kDetached)) {
    return;  // the collector would never read it
  }
  const size_t text_bytes = length_of(text, wire::kMaxNoteTextBytes);
  StreamHold hold(anchor);
  ThreadState* const state = hold.state();
  if (state == nullptr) return;
  if (state->chunk == nullptr || !wire::has_room_for_text(*state, text_bytes)) {
    if (!next_chunk(*state, 0)) return;
  }
  wire::write_text_note(*state, read_time_in_order(), kind, address, text, static_cast<uint32_t>(text_bytes));
}

void record_allocation(ThreadAnchor& anchor, wire::Function function, uintptr_t block, uint64_t size_bytes,
                       CallSite site) {
  const uint64_t tagged_address =
      wire::make_tagged_address(wire::RecordKind::kAllocate, static_cast<uint8_t>(function), block);
  record_block(anchor, tagged_address, size_bytes, site);
}

void record_release(ThreadAnchor& anchor, wire::Function function, uintptr_t block, CallSite site) {
  const uint64_t tagged_address =
      wire::make_tagged_address(wire::RecordKind::kRelease, static_cast<uint8_t>(function), block);
  record_block(anchor, tagged_address, 0, site);
}

}  // namespace heaptap::agent
