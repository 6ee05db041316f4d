#include "agent/core/exit_request.h"

#include "agent/core/kernel.h"
#include "agent/core/streams.h"

namespace heaptap::agent {
namespace {

using wire::ExitHandshake;
using wire::ExitTurn;

constexpr long kChanged = -11;  // EAGAIN
constexpr uint32_t kLongestWaitMs = 50;
constexpr uint32_t kShortestWaitMs = 1;
constexpr uint32_t kAfterwardsMs = 100;
constexpr uint32_t kPatienceShare = 4;  // of it, before the exit handlers

// Of the scan before the exit handlers. kBusy: its thread is changing the handshake, for some instructions. kUnanswered: its
// thread has waited in vain, so that the scan at the end waits for the rest of the time alone.
enum class ExitStart : uint32_t { kNotYet = 0, kBusy = 1, kOffered = 2, kOver = 3, kUnanswered = 4 };

ExitTurn turn_of(const ExitHandshake& handshake) {
  return static_cast<ExitTurn>(handshake.turn.load(std::memory_order_acquire));
}

bool is_over(ExitTurn turn) { return turn == ExitTurn::kDone || turn == ExitTurn::kGivenUp; }

// The collector takes what was offered for no end of this process.
bool is_declined(ExitTurn turn) { return turn == ExitTurn::kNone; }

uint32_t patience_before_handlers_ms() { return platform::exit_patience_ms() / kPatienceShare; }

// Measures time without a clock, which a program's filter may forbid: by expired waits. A wait interrupted by a signal
// counts little, and those after it are short, so that no timer of the program makes this endless.
class WaitBudget {
 public:
  explicit WaitBudget(const ExitHandshake& handshake, uint32_t patience_ms = platform::exit_patience_ms())
      : handshake_(handshake),
        patience_ms_(patience_ms),
        progress_(handshake.progress.load(std::memory_order_relaxed)) {}

  // Waits a little for a change of the turn. False: no change for too long, or waiting isn't possible.
  bool wait(ExitTurn turn) {
    const long result = platform::wait_at_end(handshake_.turn, static_cast<uint32_t>(turn), wait_ms_);
    const uint32_t progress = handshake_.progress.load(std::memory_order_relaxed);
    if (progress != progress_) {
      progress_ = progress;
      idle_ms_ = 0;
    }
    if (result == kernel::kInterrupted) wait_ms_ = kShortestWaitMs;
    if (result == kernel::kTimedOut || result == kernel::kInterrupted) idle_ms_ += wait_ms_;
    const bool waits =
        result == 0 || result == kernel::kTimedOut || result == kChanged || result == kernel::kInterrupted;
    return waits && idle_ms_ < patience_ms_;
  }

 private:
  const ExitHandshake& handshake_;
  uint32_t patience_ms_;
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
  platform::wake_at_end(handshake.turn);
}

// Calls `visit` for the streams of a thread until it returns true, which is then the result. They are found in the log: the thread may
// have no thread-local memory.
template <typename Visit>
bool any_stream(uint32_t thread, Visit visit) {
  const uint32_t used = g_session.log->slots_used.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used && i < g_session.layout.log.slot_count; ++i) {
    wire::StreamSlot& slot = g_session.slots[i];
    if (slot.thread_id == thread && visit(slot)) return true;
  }
  return false;
}

// A signal may have interrupted a record, which is then never finished: nothing must wait for it.
void release_streams(uint32_t thread) {
  any_stream(thread, [](wire::StreamSlot& slot) {
    wire::end_activity(slot);
    return false;
  });
}

bool is_in_record(uint32_t thread) {
  return any_stream(thread, [](const wire::StreamSlot& slot) {
    return wire::is_in_record(slot.activity.load(std::memory_order_relaxed));
  });
}

ExitStart exit_start() { return static_cast<ExitStart>(g_session_page.exit_start.load(std::memory_order_acquire)); }

bool move_start(ExitStart from, ExitStart to) {
  auto expected = static_cast<uint32_t>(from);
  return g_session_page.exit_start.compare_exchange_strong(expected, static_cast<uint32_t>(to),
                                                           std::memory_order_acq_rel);
}

// The scan before the exit handlers is worthless from now on, in whatever state it is.
void take_back(ExitHandshake& handshake) {
  handshake.turn.store(static_cast<uint32_t>(ExitTurn::kNone), std::memory_order_release);
  platform::wake_at_end(handshake.turn);
}

// Bounded, since a signal may have interrupted the thread that is busy. Returns for how long the scan at the end waits without
// progress, ms.
uint32_t end_start(ExitHandshake& handshake) {
  constexpr unsigned kMaxWaits = 20;
  for (unsigned waits = 0; exit_start() == ExitStart::kBusy && waits < kMaxWaits; ++waits) {
    platform::wait_at_end(g_session_page.exit_start, static_cast<uint32_t>(ExitStart::kBusy), kShortestWaitMs);
  }
  const auto before = static_cast<ExitStart>(
      g_session_page.exit_start.exchange(static_cast<uint32_t>(ExitStart::kOver), std::memory_order_acq_rel));
  if (before == ExitStart::kOffered || before == ExitStart::kBusy) take_back(handshake);
  const uint32_t patience_ms = platform::exit_patience_ms();
  return before == ExitStart::kUnanswered ? patience_ms - patience_before_handlers_ms() : patience_ms;
}

// Gives the collector access when it asks for it, until the scan is over, declined or `is_needless()`. False: it made no progress for
// `patience_ms`.
template <typename IsNeedless>
bool await_scan(ExitHandshake& handshake, uint32_t patience_ms, IsNeedless is_needless) {
  ReaderAllowed reader;
  WaitBudget wait_budget(handshake, patience_ms);
  for (;;) {
    const ExitTurn turn = turn_of(handshake);
    if (is_over(turn) || is_declined(turn) || is_needless()) return true;
    if (turn == ExitTurn::kAsksAccess) {
      reader.allow(handshake.reader.load(std::memory_order_relaxed));
      hand_over(handshake, turn, ExitTurn::kScanning);
    } else if (!wait_budget.wait(turn)) {
      return false;
    }
  }
}

// False: it was declined.
bool offer(ExitHandshake& handshake, const wire::ExitNotice& notice, uint32_t thread) {
  release_streams(thread);
  const uint32_t patience_ms = end_start(handshake);
  handshake.notice = notice;
  handshake.notice.thread_id = thread;
  hand_over(handshake, ExitTurn::kNone, ExitTurn::kOffered);
  if (!await_scan(handshake, patience_ms, [] { return false; })) give_up(handshake);
  return !is_declined(turn_of(handshake));
}

bool is_anyone_exiting() { return g_session_page.exiting_thread.load(std::memory_order_acquire) != 0; }

// Then the first one ends the process at once: its status is the one that counts. False: its offer was declined.
bool wait_for_first(const ExitHandshake& handshake) {
  WaitBudget wait_budget(handshake);
  ExitTurn turn = turn_of(handshake);
  while (!is_over(turn) && is_anyone_exiting() && wait_budget.wait(turn)) turn = turn_of(handshake);
  if (!is_anyone_exiting()) return false;
  platform::wait_at_end(handshake.turn, static_cast<uint32_t>(turn), kAfterwardsMs);
  return true;
}

}  // namespace

bool offer_scan(const wire::ExitNotice& notice) {
  if (!watches_exit() || !platform::is_own_process() || is_detached()) return true;
  const uint32_t thread = thread_id();
  uint32_t first = 0;
  ExitHandshake& handshake = g_session.log->exit_handshake;
  while (!g_session_page.exiting_thread.compare_exchange_strong(first, thread, std::memory_order_acq_rel)) {
    if (first == thread || wait_for_first(handshake)) return true;
    first = 0;
  }
  if (offer(handshake, notice, thread)) return true;
  move_start(ExitStart::kOver, ExitStart::kNotYet);
  g_session_page.exiting_thread.store(0, std::memory_order_release);
  return false;
}

void offer_scan_before_handlers(const wire::ExitNotice& notice) {
  if (!watches_exit() || !platform::is_own_process() || is_detached()) return;
  const uint32_t thread = thread_id();
  if (g_session_page.exiting_thread.load(std::memory_order_acquire) != 0 || is_in_record(thread)) return;
  if (!move_start(ExitStart::kNotYet, ExitStart::kBusy)) return;
  ExitHandshake& handshake = g_session.log->exit_handshake;
  handshake.notice = notice;
  handshake.notice.thread_id = thread;
  hand_over(handshake, ExitTurn::kNone, ExitTurn::kOffered);
  if (!move_start(ExitStart::kBusy, ExitStart::kOffered)) return;
  const bool was_answered =
      await_scan(handshake, patience_before_handlers_ms(), [] { return exit_start() != ExitStart::kOffered; });
  if (!move_start(ExitStart::kOffered, ExitStart::kBusy)) return;
  const bool was_declined = is_declined(turn_of(handshake));
  take_back(handshake);
  move_start(ExitStart::kBusy, was_declined   ? ExitStart::kNotYet
                               : was_answered ? ExitStart::kOver
                                              : ExitStart::kUnanswered);
}

}  // namespace heaptap::agent
