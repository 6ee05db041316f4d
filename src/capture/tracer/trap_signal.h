// SIGTRAP state of the program: blocked by some threads, ignored, or handled. A breakpoint forces that signal on a
// thread; if the thread blocks it, or the process ignores it, the kernel silently unblocks it and resets the action to
// the default (Linux kernel/signal.c, force_sig_info_to_task). So the previous state is derived from earlier
// observations: the process's initial state, calls of sigaction and pthread_sigmask, and the mask afterwards.
#pragma once
#include <csignal>
#include <cstdint>

namespace heaptap::tracer {

constexpr uint64_t signal_bit(int number) { return uint64_t{1} << (number - 1); }

// Known mask of a thread.
struct TrapMask {
  bool blocks = false;   // SIGTRAP
  uint64_t others = 0;   // other signals blocked at that time
  bool is_seen = false;  // of this thread itself, not of its creator

  static constexpr TrapMask of(uint64_t mask) {
    return {(mask & signal_bit(SIGTRAP)) != 0, mask & ~signal_bit(SIGTRAP), true};
  }
};

// Whether the thread blocked SIGTRAP before a breakpoint, after which it has `mask`. True for a superset of a known
// mask that blocks it (a handler runs with more). A mask with everything but SIGTRAP was set as a whole.
constexpr bool blocked_before_trap(const TrapMask& known, uint64_t mask) {
  constexpr uint64_t kFew = signal_bit(SIGILL) | signal_bit(SIGABRT) | signal_bit(SIGBUS) | signal_bit(SIGFPE) |
                            signal_bit(SIGSEGV) | signal_bit(SIGHUP) | signal_bit(SIGQUIT) | signal_bit(SIGPIPE);
  return (known.blocks && (mask & known.others) == known.others) || (mask & kFew) == kFew;
}

// The mask after pthread_sigmask with these arguments.
constexpr uint64_t mask_after_call(uint64_t mask, uint64_t how, uint64_t set) {
  constexpr uint64_t kNever = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
  const auto what = static_cast<int>(how);
  if (what == SIG_BLOCK) return mask | (set & ~kNever);
  if (what == SIG_UNBLOCK) return mask & ~set;
  return what == SIG_SETMASK ? set & ~kNever : mask;
}

// Action of the process for SIGTRAP.
struct TrapAction {
  enum class Kind : uint8_t { kDefault, kIgnored, kHandled };
  Kind kind = Kind::kDefault;
  uint64_t handler = 0;  // 0: unknown
  bool is_owed = false;  // a breakpoint may have reset it to the default

  static constexpr TrapAction of(uint64_t handler) {
    constexpr uint64_t kIgnore = 1;  // SIG_IGN
    return {handler == 0 ? Kind::kDefault : handler == kIgnore ? Kind::kIgnored : Kind::kHandled, handler, false};
  }
  // Must be read before it can be reset.
  [[nodiscard]] constexpr bool is_unknown() const { return kind == Kind::kHandled && handler == 0; }
  // Some thread has hit a breakpoint. It isn't always known whether that thread blocks SIGTRAP.
  constexpr void met_breakpoint() { is_owed = kind != Kind::kDefault; }
};

// Delivery of a SIGTRAP that isn't from our breakpoints.
enum class TrapDelivery : uint8_t {
  kAsItIs,
  kNot,      // the program ignores it
  kRestored  // after its handler has been restored
};

// `action`: the program's own. The kernel's doesn't count: at any moment another thread's breakpoint may reset it, and
// its stop isn't reported yet. `is_sent`: by a program. The SIGTRAP of an instruction would be forced without the
// tracer, too.
constexpr TrapDelivery delivery_of(TrapAction::Kind action, bool is_sent, bool is_blocked) {
  switch (action) {
    case TrapAction::Kind::kDefault:
      break;
    case TrapAction::Kind::kIgnored:
      return is_sent ? TrapDelivery::kNot : TrapDelivery::kAsItIs;
    case TrapAction::Kind::kHandled:
      return !is_sent && is_blocked ? TrapDelivery::kAsItIs : TrapDelivery::kRestored;
  }
  return TrapDelivery::kAsItIs;
}

// The handler that a program reads as the previous one. `there`: what the kernel told, the default after a breakpoint
// has reset it. A handler that was set by an unseen call stands there itself.
constexpr uint64_t handler_told(const TrapAction& action, uint64_t there) {
  return there != 0 ? there : action.handler;
}

}  // namespace heaptap::tracer
