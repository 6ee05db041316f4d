// SIGTRAP as the program has it: blocked by some of its threads, ignored, or handled. A breakpoint forces that signal on a thread; where
// the thread blocks it, or the process ignores it, the kernel unblocks it and sets the action to the default (Linux kernel/signal.c,
// force_sig_info_to_task), and tells nobody. So what was before is known by what was seen earlier: what the process began with, calls of
// sigaction and pthread_sigmask, and what the mask looks like afterwards.
#pragma once
#include <csignal>
#include <cstdint>

namespace heaptap::tracer {

constexpr uint64_t signal_bit(int number) { return uint64_t{1} << (number - 1); }

// What is known of a thread's mask.
struct TrapMask {
  bool blocks = false;   // SIGTRAP
  uint64_t others = 0;   // what else it blocked when that was seen
  bool is_seen = false;  // of this thread itself, not of the one that made it

  static constexpr TrapMask of(uint64_t mask) {
    return {(mask & signal_bit(SIGTRAP)) != 0, mask & ~signal_bit(SIGTRAP), true};
  }
};

// Whether the thread blocked SIGTRAP before a breakpoint, after which it has `mask`. A mask that is no less than the one that is known
// comes of it (a handler runs with more). One with all but SIGTRAP was filled as a whole.
constexpr bool blocked_before_trap(const TrapMask& known, uint64_t mask) {
  constexpr uint64_t kFew = signal_bit(SIGILL) | signal_bit(SIGABRT) | signal_bit(SIGBUS) | signal_bit(SIGFPE) |
                            signal_bit(SIGSEGV) | signal_bit(SIGHUP) | signal_bit(SIGQUIT) | signal_bit(SIGPIPE);
  return (known.blocks && (mask & known.others) == known.others) || (mask & kFew) == kFew;
}

// The mask behind a call of pthread_sigmask with these arguments.
constexpr uint64_t mask_after_call(uint64_t mask, uint64_t how, uint64_t set) {
  constexpr uint64_t kNever = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
  const auto what = static_cast<int>(how);
  if (what == SIG_BLOCK) return mask | (set & ~kNever);
  if (what == SIG_UNBLOCK) return mask & ~set;
  return what == SIG_SETMASK ? set & ~kNever : mask;
}

// What the process does about SIGTRAP.
struct TrapAction {
  enum class Kind : uint8_t { kDefault, kIgnored, kHandled };
  Kind kind = Kind::kDefault;
  uint64_t handler = 0;  // 0: not known
  bool is_owed = false;  // it may be the default now, by a breakpoint

  static constexpr TrapAction of(uint64_t handler) {
    constexpr uint64_t kIgnore = 1;  // SIG_IGN
    return {handler == 0 ? Kind::kDefault : handler == kIgnore ? Kind::kIgnored : Kind::kHandled, handler, false};
  }
  // Before it can be taken away it has to be known.
  [[nodiscard]] constexpr bool is_unknown() const { return kind == Kind::kHandled && handler == 0; }
  // Some thread has met a breakpoint. Whether that thread blocks SIGTRAP isn't always known.
  constexpr void met_breakpoint() { is_owed = kind != Kind::kDefault; }
};

// What is to be done with a SIGTRAP that isn't of a breakpoint of ours.
enum class TrapDelivery : uint8_t {
  kAsItIs,
  kNot,      // the program ignores it
  kRestored  // once its handler has been put in again
};

// `is_sent`: by a program. An instruction's own would be forced without us, too.
constexpr TrapDelivery delivery_of(const TrapAction& action, bool is_sent, bool is_blocked) {
  if (!action.is_owed) return TrapDelivery::kAsItIs;
  if (action.kind == TrapAction::Kind::kIgnored) return is_sent ? TrapDelivery::kNot : TrapDelivery::kAsItIs;
  return !is_sent && is_blocked ? TrapDelivery::kAsItIs : TrapDelivery::kRestored;
}

}  // namespace heaptap::tracer
