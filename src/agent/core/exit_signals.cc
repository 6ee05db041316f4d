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

long action(int number, const KernelAction* wanted, KernelAction* before) {
  return kernel::system_call(__NR_rt_sigaction, number, reinterpret_cast<long>(wanted), reinterpret_cast<long>(before),
                             sizeof(uint64_t));
}

}  // namespace

void let_happen(int number, const KernelAction& programs, void* info, void* context) {
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
              .status = 0});
  let_happen(number, g_programs[number], info, context);
}

KernelAction own_action() {
  return with_restorer({reinterpret_cast<uintptr_t>(&on_fatal),
                        signal_flag::kInfo | signal_flag::kOnStack | signal_flag::kRestart, 0, kAll});
}

bool may_arm() { return !g_left_alone && watches_exit() && !is_restricted() && g_session.process != kFirstProcess; }

// Whether any was armed, in this process or its ancestors by fork.
constinit std::atomic<bool> g_armed{false};

void arm(int number) {
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
  // During the exit, default dispositions end the process.
  if (!may_arm() || g_session_page.exiting_thread.load(std::memory_order_relaxed) != 0 || !platform::is_own_process())
    return;
  arm(number);
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
  if (!may_call()) return;
  disarm_signals();
  report_signal::leave();
}

bool leaves_signals_alone() { return g_left_alone; }

void arm_signals() {
  if (!may_arm() || g_session_page.exiting_thread.load(std::memory_order_relaxed) != 0 || !platform::is_own_process())
    return;
  for (int number = 1; number < kSignalCount; ++number) arm(number);
}

void disarm_signals() {
  if (!g_armed.load(std::memory_order_relaxed)) return;
  // The agent's own calls may have ended already, before the program's filter is installed.
  const auto set = [](int number, const KernelAction* wanted, KernelAction* before) {
    return kernel::call_for_program(__NR_rt_sigaction, number, reinterpret_cast<long>(wanted),
                                    reinterpret_cast<long>(before), sizeof(uint64_t));
  };
  for (int number = 1; number < kSignalCount; ++number) {
    KernelAction before{};
    if (is_fatal(number) && set(number, nullptr, &before) == 0 && is_own_handler(before.handler)) {
      set(number, &g_programs[number], nullptr);
    }
  }
}

}  // namespace heaptap::agent
