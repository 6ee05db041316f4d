// Per-thread streams into the log: where a thread's next record goes. A signal handler that interrupts a hook of its
// thread gets a stream of its own, so that no stream is re-entered.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/call_stack.h"
#include "agent/core/platform.h"
#include "agent/core/session.h"
#include "agent/core/totals.h"
#include "common/wire/log.h"
#include "common/wire/log_stream.h"

namespace heaptap::agent {

// The fields that most events need come first, in few cache lines.
struct alignas(64) ThreadState : wire::LogStream {
  uint64_t last_time;  // last clock reading
  uint32_t time_uses;  // how many more records may reuse it
  LastWriterTable::Owner owner;
  TotalsState* totals;  // null where there are none
  // Used by the registry.
  ThreadState* next_known;
  std::atomic<uint32_t> in_use;
  uint32_t thread_id;
  CallStack call_stack;
};
// With a thread's first frames it fits into two pages: in programs with many threads, these are most of the memory used per thread.
static_assert(sizeof(ThreadState) <= 3584);

// Called once a session, before the first stream.
void start_streams();

// The calling thread's state for its present level; null where there is no room (counted as lost).
ThreadState* open_stream(ThreadAnchor& anchor);

// Of a thread that has ended, as is known without asking the kernel. The streams stay with the log.
void end_streams(ThreadAnchor& anchor);

// Memory [begin, end) is about to be unmapped or made unreadable, while the calling thread runs at `sp`: it may be a
// part of the thread's own stack that it uses for something else, such as the stacks of fibers.
void forget_stack_memory(uintptr_t begin, uintptr_t end, uintptr_t sp);

// Makes room for a record: the stream's next chunk, for times from `earliest` on (0: from now on). False: no chunk
// became free in time; the event is lost and counted.
bool next_chunk(ThreadState& state, uint64_t earliest);

// Scope of one level of the calling thread while a record is made. Nests up to ThreadAnchor::kLevels.
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

  // Whether this event happened while another of the same thread was being recorded: in a signal handler, or after a
  // handler left an earlier one by longjmp.
  [[nodiscard]] bool is_nested() const { return anchor_.level > 1; }
  // No record is being made below after all (longjmp). Ends the streams in use there, since their state is unknown, and
  // this one takes their place.
  void end_levels_below();

  // Null: no record is possible here; it was counted.
  [[nodiscard]] ThreadState* state() const { return state_; }
  [[nodiscard]] ThreadAnchor& anchor() const { return anchor_; }

 private:
  // First event of a thread, or of a level.
  ThreadState* begin();

  ThreadAnchor& anchor_;
  ThreadState* state_;
  uint32_t level_ = 0;  // restored at the end
};

}  // namespace heaptap::agent
