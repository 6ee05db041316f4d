#include "agent/core/report_signal.h"

#include <atomic>

#include "agent/core/kernel.h"
#include "agent/core/session.h"

namespace heaptap::agent::report_signal {
namespace {

constexpr uintptr_t kDefault = 0;
constexpr uintptr_t kIgnore = 1;
constexpr uint64_t kAll = ~uint64_t{0};
constexpr long kBlock = 0;
constexpr long kSetMask = 2;

using Handler = void(int, void*, void*);

// The program's disposition. The handler and its SA_RESETHAND are one word: the agent's handler takes both at once. No
// address of a function has that bit.
constexpr uint64_t kOnce = uint64_t{1} << 63;
constinit wire::Atomic64 g_handler{kDefault};
constinit std::atomic<unsigned long> g_flags{0};
constinit wire::Atomic64 g_mask{0};
constinit std::atomic<uintptr_t> g_restorer{0};
constinit std::atomic<int> g_number{0};  // of the signal; 0: not handled
constinit std::atomic<bool> g_interrupts{false};

long exchange_action(const KernelAction* wanted, KernelAction* before) {
  return kernel::system_call(__NR_rt_sigaction, g_number.load(std::memory_order_relaxed),
                             reinterpret_cast<long>(wanted), reinterpret_cast<long>(before), sizeof(uint64_t));
}

bool is_function(uint64_t handler) { return (handler & ~kOnce) > kIgnore; }

// Whether this is the session's process. A process that must not ask the kernel is taken for it if it has the session.
bool is_sessions_process() {
  return g_session_page.state.load(std::memory_order_relaxed) == SessionState::kRecording &&
         (!may_call() || kernel::process_id() == g_session.process);
}

// A child that shares the memory: a change by it would affect its parent.
bool is_borrower() {
  return g_session_page.state.load(std::memory_order_relaxed) == SessionState::kRecording && !is_sessions_process();
}

uint64_t take_handler() {
  uint64_t handler = g_handler.load(std::memory_order_acquire);
  while ((handler & kOnce) != 0 && !is_borrower() &&
         !g_handler.compare_exchange_weak(handler, kDefault, std::memory_order_acq_rel)) {
  }
  return handler & ~kOnce;
}

// Async-signal-safe. Jumps to the program's handler, which finds the stack as the kernel made it.
void on_signal(int number, void* info, void* context) {
  const uint64_t handler = take_handler();
  const bool is_recorded = is_sessions_process();
  if (is_recorded) g_session.log->report_requests.fetch_add(1, std::memory_order_relaxed);
  if (is_function(handler)) return reinterpret_cast<Handler*>(handler)(number, info, context);
  // A child that isn't recorded, and won't be, behaves as it would alone.
  const bool is_alone = !is_recorded && (is_borrower() || (g_session.flags & wire::kFollowFork) == 0);
  if (handler == kDefault && is_alone && is_fatal(number)) {
    let_happen(number, {kDefault, 0, 0, 0}, info, context);
  }
}

// The kernel's disposition while the program has set this one.
KernelAction dressed(const KernelAction& programs) {
  const auto own = reinterpret_cast<uintptr_t>(&on_signal);
  if (is_function(programs.handler)) {
    const bool has_restorer = (programs.flags & signal_flag::kRestorer) != 0;
    const KernelAction made{own, (programs.flags & ~signal_flag::kResetHandler) | signal_flag::kInfo, programs.restorer,
                            programs.mask};
    return has_restorer ? made : with_restorer(made);
  }
  return with_restorer({own, signal_flag::kInfo | signal_flag::kOnStack | signal_flag::kRestart, 0, kAll});
}

// As the kernel keeps it.
void keep(const KernelAction& programs) {
  constexpr uint64_t kNeverBlocked = signal_bit(9) | signal_bit(19);  // SIGKILL, SIGSTOP
  const uint64_t once = is_function(programs.handler) && (programs.flags & signal_flag::kResetHandler) != 0 ? kOnce : 0;
  g_flags.store(programs.flags & signal_flag::kKnown, std::memory_order_relaxed);
  g_mask.store(programs.mask & ~kNeverBlocked, std::memory_order_relaxed);
  g_restorer.store(programs.restorer, std::memory_order_relaxed);
  g_handler.store(programs.handler | once, std::memory_order_release);
}

}  // namespace

bool is_own_handler(uintptr_t handler) { return handler == reinterpret_cast<uintptr_t>(&on_signal); }

KernelAction programs_action() {
  return {static_cast<uintptr_t>(g_handler.load(std::memory_order_acquire) & ~kOnce),
          g_flags.load(std::memory_order_relaxed), g_restorer.load(std::memory_order_relaxed),
          g_mask.load(std::memory_order_relaxed)};
}

bool is_taken(int number) {
  return number != 0 && number == g_number.load(std::memory_order_relaxed) && is_sessions_process();
}

void arm() {
  constexpr uint32_t kSignals = 64;
  const uint32_t wanted = g_session.log->report_signal.load(std::memory_order_relaxed);
  if (wanted == 0 || wanted > kSignals || leaves_signals_alone() || is_restricted() || !is_sessions_process()) return;
  g_number.store(static_cast<int>(wanted), std::memory_order_relaxed);
  adopt();
}

void adopt() {
  const SignalBlocked blocked;
  KernelAction now{};
  if (exchange_action(nullptr, &now) != 0 || is_own_handler(now.handler)) return;
  keep(now);
  const KernelAction own = dressed(now);
  exchange_action(&own, nullptr);
}

KernelAction take(const KernelAction& wanted) {
  keep(wanted);
  // Under a filter of system calls the return from a handler may be forbidden.
  return wanted.handler == kIgnore && is_restricted() ? wanted : dressed(wanted);
}

void note_restorer() {
  KernelAction now{};
  if (exchange_action(nullptr, &now) != 0 || !is_own_handler(now.handler)) return;
  if ((now.flags & signal_flag::kRestorer) == 0) return;
  g_restorer.store(now.restorer, std::memory_order_relaxed);
  g_flags.fetch_or(signal_flag::kRestorer, std::memory_order_relaxed);
}

void note_interrupts(bool interrupts) {
  g_interrupts.store(interrupts, std::memory_order_relaxed);
  KernelAction programs = programs_action();
  programs.flags = interrupts ? programs.flags & ~signal_flag::kRestart : programs.flags | signal_flag::kRestart;
  g_flags.store(programs.flags, std::memory_order_relaxed);
  KernelAction now{};
  if (exchange_action(nullptr, &now) != 0 || !is_own_handler(now.handler)) return;
  const KernelAction own = dressed(programs);
  exchange_action(&own, nullptr);
}

bool interrupts() { return g_interrupts.load(std::memory_order_relaxed); }

void withdraw() {
  if (g_number.load(std::memory_order_relaxed) == 0 || g_handler.load(std::memory_order_acquire) != kIgnore) return;
  KernelAction now{};
  const int number = g_number.load(std::memory_order_relaxed);
  const auto call = [number](const KernelAction* wanted, KernelAction* before) {
    return kernel::call_for_program(__NR_rt_sigaction, number, reinterpret_cast<long>(wanted),
                                    reinterpret_cast<long>(before), sizeof(uint64_t));
  };
  const KernelAction programs = programs_action();
  if (call(nullptr, &now) == 0 && is_own_handler(now.handler)) call(&programs, nullptr);
}

void leave() {
  if (g_number.load(std::memory_order_relaxed) == 0) return;
  KernelAction now{};
  const KernelAction programs = programs_action();
  if (exchange_action(nullptr, &now) == 0 && is_own_handler(now.handler)) exchange_action(&programs, nullptr);
  g_number.store(0, std::memory_order_relaxed);
}

SignalBlocked::SignalBlocked() {
  changed_ = kernel::system_call(__NR_rt_sigprocmask, kBlock, reinterpret_cast<long>(&kAll),
                                 reinterpret_cast<long>(&before_), sizeof(uint64_t)) == 0;
}

SignalBlocked::~SignalBlocked() {
  if (changed_) {
    kernel::system_call(__NR_rt_sigprocmask, kSetMask, reinterpret_cast<long>(&before_), 0, sizeof(uint64_t));
  }
}

IgnoredForExec::IgnoredForExec() {
  if (g_number.load(std::memory_order_relaxed) == 0 || g_handler.load(std::memory_order_acquire) != kIgnore) return;
  KernelAction now{};
  if (exchange_action(nullptr, &now) != 0 || !is_own_handler(now.handler)) return;
  const KernelAction programs = programs_action();
  changed_ = exchange_action(&programs, nullptr) == 0;
}

IgnoredForExec::~IgnoredForExec() {
  if (!changed_) return;
  const KernelAction own = dressed(programs_action());
  exchange_action(&own, nullptr);
}

}  // namespace heaptap::agent::report_signal
