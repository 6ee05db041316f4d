#include "agent/core/exit_request.h"

#include "agent/core/kernel.h"
#include "agent/core/streams.h"

namespace heaptap::agent {
namespace {

using wire::ExitHandshake;
using wire::ExitTurn;

constexpr long kTimedOut = -110;  // ETIMEDOUT
constexpr long kChanged = -11;    // EAGAIN
constexpr uint32_t kLongestWaitMs = 50;
constexpr uint32_t kShortestWaitMs = 1;
constexpr uint32_t kAfterwardsMs = 100;

ExitTurn turn_of(const ExitHandshake& handshake) {
  return static_cast<ExitTurn>(handshake.turn.load(std::memory_order_acquire));
}

bool is_over(ExitTurn turn) { return turn == ExitTurn::kDone || turn == ExitTurn::kGivenUp; }

// Measures time without a clock, which a program's filter may forbid: by expired waits. A wait interrupted by a signal
// counts little, and those after it are short, so that no timer of the program makes this endless.
class WaitBudget {
 public:
  explicit WaitBudget(const ExitHandshake& handshake)
      : handshake_(handshake), progress_(handshake.progress.load(std::memory_order_relaxed)) {}

  // Waits a little for a change of the turn. False: no change for too long, or waiting isn't possible.
  bool wait(ExitTurn turn) {
    const long result = kernel::futex_wait(&handshake_.turn, static_cast<uint32_t>(turn), wait_ms_);
    const uint32_t progress = handshake_.progress.load(std::memory_order_relaxed);
    if (progress != progress_) {
      progress_ = progress;
      idle_ms_ = 0;
    }
    if (result == kernel::kInterrupted) wait_ms_ = kShortestWaitMs;
    if (result == kTimedOut || result == kernel::kInterrupted) idle_ms_ += wait_ms_;
    const bool waits = result == 0 || result == kTimedOut || result == kChanged || result == kernel::kInterrupted;
    return waits && idle_ms_ < wire::kExitPatienceMs;
  }

 private:
  const ExitHandshake& handshake_;
  uint32_t progress_;
  uint32_t wait_ms_ = kLongestWaitMs;
  uint32_t idle_ms_ = 0;
};

// Yama permits reading to ancestors and to the process named by the program. Names the collector as long as necessary.
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

// No collector is left to scan.
bool is_detached() {
  return g_session.log->recording_switch.load(std::memory_order_relaxed) ==
         static_cast<uint32_t>(wire::RecordingSwitch::kDetached);
}

void give_up(ExitHandshake& handshake) {
  uint32_t turn = handshake.turn.load(std::memory_order_acquire);
  while (!is_over(static_cast<ExitTurn>(turn)) &&
         !handshake.turn.compare_exchange_weak(turn, static_cast<uint32_t>(ExitTurn::kGivenUp),
                                               std::memory_order_acq_rel)) {
  }
}

void hand_over(ExitHandshake& handshake, ExitTurn from, ExitTurn to) {
  auto expected = static_cast<uint32_t>(from);
  handshake.turn.compare_exchange_strong(expected, static_cast<uint32_t>(to), std::memory_order_acq_rel);
  kernel::futex_wake(&handshake.turn);
}

// A signal may have interrupted a record, which is then never finished: nothing must wait for it. The thread's streams
// are found in the log: it may have no thread-local memory.
void release_streams(uint32_t thread) {
  const uint32_t used = g_session.log->slots_used.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used && i < g_session.layout.log.slot_count; ++i) {
    wire::StreamSlot& slot = g_session.slots[i];
    if (slot.thread_id == thread) wire::end_activity(slot);
  }
}

void offer(ExitHandshake& handshake, const wire::ExitNotice& notice, uint32_t thread) {
  ReaderAllowed reader;
  release_streams(thread);
  handshake.notice = notice;
  handshake.notice.thread_id = thread;
  hand_over(handshake, ExitTurn::kNone, ExitTurn::kOffered);
  WaitBudget wait_budget(handshake);
  for (ExitTurn turn = turn_of(handshake); !is_over(turn); turn = turn_of(handshake)) {
    if (turn == ExitTurn::kAsksAccess) {
      reader.allow(handshake.reader.load(std::memory_order_relaxed));
      hand_over(handshake, turn, ExitTurn::kScanning);
    } else if (!wait_budget.wait(turn)) {
      give_up(handshake);
    }
  }
}

// Then the first one ends the process at once: its status is the one that counts.
void wait_for_first(const ExitHandshake& handshake) {
  WaitBudget wait_budget(handshake);
  ExitTurn turn = turn_of(handshake);
  while (!is_over(turn) && wait_budget.wait(turn)) turn = turn_of(handshake);
  kernel::futex_wait(&handshake.turn, static_cast<uint32_t>(turn), kAfterwardsMs);
}

}  // namespace

void offer_scan(const wire::ExitNotice& notice) {
  if (!watches_exit() || kernel::process_id() != g_session.process || is_detached()) return;
  const uint32_t thread = kernel::thread_id();
  uint32_t first = 0;
  ExitHandshake& handshake = g_session.log->exit_handshake;
  if (g_session_page.exiting_thread.compare_exchange_strong(first, thread, std::memory_order_acq_rel)) {
    offer(handshake, notice, thread);
  } else if (first != thread) {
    wait_for_first(handshake);
  }
}

}  // namespace heaptap::agent
