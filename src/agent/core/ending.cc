#include "agent/core/ending.h"

#include "agent/core/kernel.h"
#include "agent/core/streams.h"

namespace heaptap::agent {
namespace {

using wire::Ending;
using wire::EndingTurn;

constexpr long kTimedOut = -110;  // ETIMEDOUT
constexpr long kChanged = -11;    // EAGAIN
constexpr uint32_t kLongestWaitMs = 50;
constexpr uint32_t kShortestWaitMs = 1;
constexpr uint32_t kAfterwardsMs = 100;

EndingTurn turn_of(const Ending& ending) {
  return static_cast<EndingTurn>(ending.turn.load(std::memory_order_acquire));
}

bool is_over(EndingTurn turn) { return turn == EndingTurn::kDone || turn == EndingTurn::kGivenUp; }

// Counts time without asking a clock, which a program's filter may forbid: by waits that ran out. One that a signal cut short
// counts little, and those after it are short, so that no timer of the program makes this endless.
class Patience {
 public:
  explicit Patience(const Ending& ending)
      : ending_(ending), progress_(ending.progress.load(std::memory_order_relaxed)) {}

  // Waits a little for a change of the turn. False: for too long nothing moved, or waiting isn't possible.
  bool wait(EndingTurn turn) {
    const long result = kernel::futex_wait(&ending_.turn, static_cast<uint32_t>(turn), wait_ms_);
    const uint32_t progress = ending_.progress.load(std::memory_order_relaxed);
    if (progress != progress_) {
      progress_ = progress;
      idle_ms_ = 0;
    }
    if (result == kernel::kInterrupted) wait_ms_ = kShortestWaitMs;
    if (result == kTimedOut || result == kernel::kInterrupted) idle_ms_ += wait_ms_;
    const bool waits = result == 0 || result == kTimedOut || result == kChanged || result == kernel::kInterrupted;
    return waits && idle_ms_ < wire::kEndingPatienceMs;
  }

 private:
  const Ending& ending_;
  uint32_t progress_;
  uint32_t wait_ms_ = kLongestWaitMs;
  uint32_t idle_ms_ = 0;
};

// Yama allows reading only to ancestors and to whom the program names. Gives what was asked for, as long as it is needed.
class ReaderAllowed {
 public:
  ReaderAllowed() = default;
  ~ReaderAllowed() {
    if (changed_) set(static_cast<long>(g_session.ptracer));
  }
  ReaderAllowed(const ReaderAllowed&) = delete;
  ReaderAllowed& operator=(const ReaderAllowed&) = delete;

  void allow(int process) {
    changed_ = true;
    set(process);
  }

 private:
  static void set(long process) {
    constexpr long kSetPtracer = 0x59616d61;  // PR_SET_PTRACER
    kernel::system_call(__NR_prctl, kSetPtracer, process);
  }
  bool changed_ = false;
};

void give_up(Ending& ending) {
  uint32_t turn = ending.turn.load(std::memory_order_acquire);
  while (!is_over(static_cast<EndingTurn>(turn)) &&
         !ending.turn.compare_exchange_weak(turn, static_cast<uint32_t>(EndingTurn::kGivenUp),
                                            std::memory_order_acq_rel)) {
  }
}

void hand_over(Ending& ending, EndingTurn from, EndingTurn to) {
  auto expected = static_cast<uint32_t>(from);
  ending.turn.compare_exchange_strong(expected, static_cast<uint32_t>(to), std::memory_order_acq_rel);
  kernel::futex_wake(&ending.turn);
}

// A signal may have come in the middle of a record, which is never finished: nobody is to wait for it. Which streams are this
// thread's is asked of the log: it may have no thread-local memory.
void let_go_of_streams(uint32_t thread) {
  const uint32_t used = g_session.log->slots_used.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used && i < g_session.layout.log.slot_count; ++i) {
    wire::StreamSlot& slot = g_session.slots[i];
    if (slot.thread_id == thread) wire::end_activity(slot);
  }
}

void offer(Ending& ending, const wire::EndingNotice& notice, uint32_t thread) {
  ReaderAllowed reader;
  let_go_of_streams(thread);
  ending.notice = notice;
  ending.notice.thread_id = thread;
  hand_over(ending, EndingTurn::kNone, EndingTurn::kOffered);
  Patience patience(ending);
  for (EndingTurn turn = turn_of(ending); !is_over(turn); turn = turn_of(ending)) {
    if (turn == EndingTurn::kAsksAccess) {
      reader.allow(ending.reader.load(std::memory_order_relaxed));
      hand_over(ending, turn, EndingTurn::kScanning);
    } else if (!patience.wait(turn)) {
      give_up(ending);
    }
  }
}

// Then the first one ends the process at once: its status is the one that counts.
void wait_for_first(const Ending& ending) {
  Patience patience(ending);
  EndingTurn turn = turn_of(ending);
  while (!is_over(turn) && patience.wait(turn)) turn = turn_of(ending);
  kernel::futex_wait(&ending.turn, static_cast<uint32_t>(turn), kAfterwardsMs);
}

}  // namespace

void offer_scan(const wire::EndingNotice& notice) {
  if (!watches_ending() || kernel::process_id() != g_session.process) return;
  const uint32_t thread = kernel::thread_id();
  uint32_t first = 0;
  Ending& ending = g_session.log->ending;
  if (g_session_page.ending_thread.compare_exchange_strong(first, thread, std::memory_order_acq_rel)) {
    offer(ending, notice, thread);
  } else if (first != thread) {
    wait_for_first(ending);
  }
}

}  // namespace heaptap::agent
