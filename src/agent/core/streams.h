// Each thread's stream into the log: where its next record goes. A signal handler that interrupts a hook of its thread
// gets a stream of its own, so that no stream is ever entered twice.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/call_stack.h"
#include "agent/core/platform.h"
#include "agent/core/session.h"
#include "agent/core/totals.h"
#include "wire/log.h"
#include "wire/log_stream.h"

namespace heaptap::agent {

// What most events need comes first, in few lines of a cache.
struct alignas(64) ThreadState : wire::LogStream {
  uint64_t last_time;  // as it was read last
  uint32_t time_uses;  // how many more records may take it
  uint32_t takes;      // places of memory that this stream became the owner of since its chunk was begun
  LastWriterTable::Owner owner;
  TotalsState* totals;  // null where there are none
  // Kept by the registry.
  ThreadState* next_known;
  std::atomic<uint32_t> in_use;
  uint32_t thread_id;
  CallStack call_stack;
};
// All of it and a thread's first frames fit into two pages of memory: where threads are many, these are most of what each takes.
static_assert(sizeof(ThreadState) <= 3584);

// Once a session, before the first stream.
void start_streams();

// The calling thread's state for its present level; null where there is no room (counted as lost).
ThreadState* open_stream(ThreadAnchor& anchor);

// The memory of [begin, end) is about to go, or can't be read any more, while the calling thread runs at `sp`: it may be a part of
// the thread's own stack that it uses for something else, such as the stacks of fibers.
void forget_stack_memory(uintptr_t begin, uintptr_t end, uintptr_t sp);

// Makes room for a record: the next chunk of the stream, for times from `earliest` on (0: from now on). False: there was none in
// time; the event is lost and counted.
bool next_chunk(ThreadState& state, uint64_t earliest);

// Holds one level of the calling thread while a record is made. Doesn't nest beyond ThreadAnchor::kLevels.
class StreamHold {
 public:
  explicit StreamHold(ThreadAnchor& anchor) : anchor_(anchor) {
    ThreadState* state = anchor.states[0];
    if (anchor.session == g_session.number && anchor.level == 0 && state != nullptr) [[likely]] {
      anchor.level = 1;
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
      wire::begin_activity(*state->slot);
      state_ = state;
    } else {
      state_ = begin();
    }
  }
  ~StreamHold() {
    if (state_ == nullptr) return;
    wire::end_activity(*state_->slot);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    anchor_.level = level_;
  }
  StreamHold(const StreamHold&) = delete;
  StreamHold& operator=(const StreamHold&) = delete;

  // Whether this event came while another of the same thread was being recorded: from a signal handler, or because a
  // handler left an earlier one by longjmp.
  [[nodiscard]] bool is_nested() const { return anchor_.level > 1; }
  // Nothing is being recorded below, after all. The streams that were being written to then are ended, since what they were
  // left in isn't known, and this one takes their place.
  void end_levels_below();

  // Null: nothing can be recorded here; it was counted.
  [[nodiscard]] ThreadState* state() const { return state_; }
  [[nodiscard]] ThreadAnchor& anchor() const { return anchor_; }

 private:
  // A thread's first event, or one at a level of its own.
  ThreadState* begin();

  ThreadAnchor& anchor_;
  ThreadState* state_;
  uint32_t level_ = 0;  // what is to be restored
};

}  // namespace heaptap::agent
