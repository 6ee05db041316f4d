#include "agent/core/exit_signals.h"

#include "agent/core/exit_request.h"
#include "agent/core/kernel.h"
#include "agent/core/report_signal.h"
#include "agent/core/signal_context.h"

namespace heaptap::agent {
namespace {

using arch::native::Unwinding;

constexpr int kSignalCount = 65;
constexpr uint64_t kAll = ~uint64_t{0};
constexpr int kFirstProcess = 1;  // init of a namespace: the kernel ignores its signals with default disposition

constexpr uint64_t bit(int number) { return signal_bit(number); }
// SIGKILL, SIGSTOP; those that stop, continue or are ignored (CHLD CONT TSTP TTIN TTOU URG WINCH); 32 and 33, which are libc's.
constexpr uint64_t kNotFatal =
    bit(9) | bit(19) | bit(17) | bit(18) | bit(20) | bit(21) | bit(22) | bit(23) | bit(28) | bit(32) | bit(33);

constinit KernelAction g_programs[kSignalCount]{};
constinit bool g_left_alone = false;

// In the program's name: the agent's own calls may have ended already, before a filter is installed.
long action(int number, const KernelAction* wanted, KernelAction* before) {
  return kernel::call_for_program(__NR_rt_sigaction, number, reinterpret_cast<long>(wanted),
                                  reinterpret_cast<long>(before), sizeof(uint64_t));
}

// Of siginfo_t: it was raised by an instruction, which raises it again.
bool is_fault(int number, const void* info) {
  constexpr int kBus = 7;
  constexpr uint64_t kFaults = bit(4) | bit(kBus) | bit(8) | bit(11);  // ILL, FPE, SEGV
  constexpr int kCode = 2;                                             // word
  constexpr int kLeastOfFaults = 1;
  constexpr int kLaterThanAccess = 5;  // BUS_MCEERR_AO
  constexpr int kLaterThanTag = 8;     // SEGV_MTEAERR
  constexpr int kFromKernel = 0x80;
  const int code = static_cast<const int*>(info)[kCode];
  const bool is_late = code == kLaterThanTag || (number == kBus && code == kLaterThanAccess);
  return (kFaults & bit(number)) != 0 && code >= kLeastOfFaults && code != kFromKernel && !is_late;
}

constinit std::atomic<bool> g_is_locked{false};

}  // namespace

ActionLock::ActionLock(uint32_t most_pauses) {
  for (uint32_t left = most_pauses; g_is_locked.exchange(true, std::memory_order_acquire) && left != 0; --left)
    arch::native::relax();
}

ActionLock::~ActionLock() { g_is_locked.store(false, std::memory_order_release); }

// Where a filter may forbid calls, a fault is repeated, with its signal blocked: the kernel then takes the default action.
void let_happen(int number, const KernelAction& programs, void* info, void* context) {
  if (is_restricted() && is_fault(number, info)) {
    found_at<SignalSet>(context, Unwinding::kSignalMask) |= bit(number);
    return;
  }
  kernel::call_for_program(__NR_rt_sigaction, number, reinterpret_cast<long>(&programs), 0, sizeof(uint64_t));
  const long process = kernel::call_for_program(__NR_getpid);
  const long thread = kernel::call_for_program(__NR_gettid);
  if (kernel::failed(
          kernel::call_for_program(__NR_rt_tgsigqueueinfo, process, thread, number, reinterpret_cast<long>(info)))) {
    kernel::call_for_program(__NR_tgkill, process, thread, number);
  }
  // A thread that waited in sigsuspend or the like has it blocked again by then.
  found_at<SignalSet>(context, Unwinding::kSignalMask) &= ~bit(number);
}

namespace {

void on_fatal(int number, void* info, void* context) {
  const uintptr_t interrupted = found_at<uintptr_t>(context, Unwinding::kSignalStackPointer) - Unwinding::kRedZoneBytes;
  offer_scan({.kind = wire::ExitKind::kSignal,
              .thread_id = 0,
              .live_sp = reinterpret_cast<uintptr_t>(context),
              .interrupted_sp = interrupted,
              .signal = static_cast<uint32_t>(number),
              .status = 0,
              .registers = 0,
              .waits_below = reinterpret_cast<uintptr_t>(context)});
  let_happen(number, g_programs[number], info, context);
}

KernelAction own_action() {
  return with_restorer({reinterpret_cast<uintptr_t>(&on_fatal),
                        signal_flag::kInfo | signal_flag::kOnStack | signal_flag::kRestart, 0, kAll});
}

// Not in a child that shares the memory: it would change what is remembered of its parent. And during the exit default dispositions end
// the process.
bool may_arm() {
  return !g_left_alone && watches_exit() && may_call_for_program() && g_session.process != kFirstProcess &&
         g_session_page.exiting_thread.load(std::memory_order_relaxed) == 0 &&
         kernel::call_for_program(__NR_getpid) == g_session.process;
}

// Whether any was armed, in this process or its ancestors by fork.
constinit std::atomic<bool> g_armed{false};
// Whether the program's defaults are replaced, now and when it sets them.
constinit std::atomic<bool> g_arms{false};

void arm(int number) {
  const ActionLock lock(ActionLock::kForAgent);
  if (!g_arms.load(std::memory_order_acquire) || !may_call_for_program()) return;
  KernelAction before{};
  if (!is_fatal(number) || action(number, nullptr, &before) != 0 || before.handler != 0) return;
  g_programs[number] = before;
  g_armed.store(true, std::memory_order_relaxed);
  const KernelAction own = own_action();
  action(number, &own, &before);
  const bool changed_meanwhile = before.handler != 0 && !is_own_handler(before.handler);
  if (changed_meanwhile) action(number, &before, nullptr);
}

}  // namespace

bool is_fatal(int number) { return number > 0 && number < kSignalCount && (kNotFatal & bit(number)) == 0; }

bool is_own_handler(uintptr_t handler) { return handler == reinterpret_cast<uintptr_t>(&on_fatal); }

const KernelAction& programs_action(int number) { return g_programs[number]; }

void arm_signal(int number) {
  if (g_arms.load(std::memory_order_relaxed) && may_arm()) arm(number);
}

void note_restarts(int number, bool restarts) {
  if (!g_armed.load(std::memory_order_relaxed) || !watches_exit() || !platform::is_own_process()) return;
  KernelAction now{};
  if (!is_fatal(number) || action(number, nullptr, &now) != 0 || !is_own_handler(now.handler)) return;
  unsigned long& flags = g_programs[number].flags;
  flags = restarts ? flags | signal_flag::kRestart : flags & ~signal_flag::kRestart;
  const KernelAction own = own_action();
  action(number, &own, nullptr);
}

void leave_signals_alone() {
  if (g_left_alone) return;
  g_left_alone = true;
  if (!may_call_for_program()) return;
  disarm_signals();
  if (may_call()) report_signal::leave();
}

bool leaves_signals_alone() { return g_left_alone; }

bool arm_signals() {
  if (!may_arm()) return false;
  g_arms.store(true, std::memory_order_release);
  for (int number = 1; number < kSignalCount; ++number) arm(number);
  return true;
}

bool arms_signals() { return g_arms.load(std::memory_order_acquire); }

void resume_arming() { g_arms.store(true, std::memory_order_release); }

// Another thread of the program may set an action meanwhile, which then counts.
unsigned disarm_signals() {
  unsigned count = 0;
  g_arms.store(false, std::memory_order_release);
  if (!g_armed.load(std::memory_order_relaxed)) return count;
  for (int number = 1; number < kSignalCount; ++number) {
    if (!is_fatal(number)) continue;
    const ActionLock lock(ActionLock::kForAgent);
    KernelAction before{};
    if (action(number, nullptr, &before) != 0 || !is_own_handler(before.handler)) continue;
    ++count;
    const KernelAction programs = g_programs[number];
    action(number, &programs, &before);
    if (!is_own_handler(before.handler)) action(number, &before, nullptr);
  }
  return count;
}

}  // namespace heaptap::agent
