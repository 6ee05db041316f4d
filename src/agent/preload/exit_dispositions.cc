// Signal disposition hooks: exports through which a program reads and sets signal actions. The agent's own handlers
// read as the default, and the report signal reads as the program set it.
#include <stddef.h>
#include <stdint.h>

#include "agent/core/dispositions.h"
#include "agent/core/exit_signals.h"
#include "agent/core/report_signal.h"
#include "agent/preload/preload.h"
#include "agent/preload/real_functions.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace heaptap::agent {
namespace {

// The library sets a restorer of its own.
KernelAction kernels(const LibcAction& action) {
  return {action.handler, static_cast<unsigned>(action.flags) & ~signal_flag::kRestorer, action.restorer,
          action.mask[0]};
}

using SetAction = int(int, const LibcAction*, LibcAction*);

// For the report signal. It never has its default disposition, not even for a moment.
int set_report_action(SetAction* call, int number, const LibcAction& wanted, LibcAction* old) {
  const report_signal::SignalBlocked blocked;
  const KernelAction before = report_signal::programs_action();
  const KernelAction own = report_signal::take(kernels(wanted));
  LibcAction dressed = wanted;  // first: both may be the same memory
  dressed.handler = own.handler;
  dressed.flags = static_cast<int>(own.flags);
  dressed.mask[0] = own.mask;
  LibcAction found{};
  const int status = call(number, &dressed, &found);
  if (status != 0) {
    report_signal::take(before);
    return status;
  }
  report_signal::note_restorer();
  if (old == nullptr) return status;
  *old = found;
  if (!report_signal::is_own_handler(found.handler)) return status;
  old->handler = before.handler;
  old->mask[0] = before.mask;
  old->flags = static_cast<int>(before.flags);
  old->restorer = before.restorer;
  return status;
}

int set_action(int number, const LibcAction* wanted, LibcAction* old) {
  auto* call = real<SetAction>(Other::kSignalAction);
  if (call == nullptr) return -1;
  if (wanted != nullptr && report_signal::is_taken(number)) return set_report_action(call, number, *wanted, old);
  const int status = call(number, wanted, old);
  if (status != 0) return status;
  // Both may be the same memory: the kernel is asked for the new disposition.
  const bool sets = wanted != nullptr;
  if (old != nullptr) hide_own_handler(number, *old);
  if (sets) arm_signal(number);
  return 0;
}

using Handler = uintptr_t;
constexpr Handler kError = ~Handler{0};

// The library's disposition for a handler: signal(2), sysv_signal(3).
LibcAction action_of(Other function, int number, Handler handler) {
  LibcAction action{.handler = handler, .mask = {}, .flags = 0, .restorer = 0};
  if (function == Other::kSystemVSignal) {
    action.flags = static_cast<int>(signal_flag::kResetHandler | signal_flag::kNoDefer | signal_flag::kInterrupt);
  } else {
    action.mask[0] = signal_bit(number);
    action.flags = report_signal::interrupts() ? 0 : static_cast<int>(signal_flag::kRestart);
  }
  return action;
}

// For the report signal. sigset, which also changes the blocked signals, is left to the library.
Handler set_report_handler(Other function, int number, Handler handler) {
  auto* set = real<SetAction>(Other::kSignalAction);
  auto* call = real<Handler(int, Handler)>(function);
  if (set == nullptr || call == nullptr) return kError;
  LibcAction old{};
  if (function != Other::kSignalSet && handler != kError) {
    return set_report_action(set, number, action_of(function, number, handler), &old) == 0 ? old.handler : kError;
  }
  const Handler programs = report_signal::programs_action().handler;
  const Handler before = call(number, handler);
  report_signal::adopt();
  return report_signal::is_own_handler(before) ? programs : before;
}

Handler set_handler(Other function, int number, Handler handler) {
  if (report_signal::is_taken(number)) return set_report_handler(function, number, handler);
  auto* call = real<Handler(int, Handler)>(function);
  if (call == nullptr) return kError;
  const Handler before = call(number, handler);
  if (handler == 0) arm_signal(number);
  if (report_signal::is_own_handler(before)) return report_signal::programs_action().handler;
  return is_own_handler(before) ? 0 : before;
}

using CallByNumber = long(long, long, const KernelAction*, KernelAction*, size_t);

long set_report_action_by_number(CallByNumber* call, long call_number, long number, const KernelAction& wanted,
                                 KernelAction* old) {
  const report_signal::SignalBlocked blocked;
  const KernelAction before = report_signal::programs_action();
  const KernelAction own = report_signal::take(wanted);
  KernelAction found{};
  const long status = call(call_number, number, &own, &found, sizeof(uint64_t));
  if (status != 0) {
    report_signal::take(before);
  } else if (old != nullptr) {
    *old = report_signal::is_own_handler(found.handler) ? before : found;
  }
  return status;
}

// sigaction(2) called by number.
long action_by_number(long call_number, long number, const KernelAction* wanted, KernelAction* old, size_t mask_bytes) {
  auto* call = real<CallByNumber>(Other::kSystemCall);
  if (call == nullptr) return -1;
  const bool sets = wanted != nullptr;
  if (sets && report_signal::is_taken(static_cast<int>(number)) && mask_bytes == sizeof(uint64_t)) {
    return set_report_action_by_number(call, call_number, number, *wanted, old);
  }
  const long status = call(call_number, number, wanted, old, mask_bytes);
  if (status != 0) return status;
  if (old != nullptr) hide_own_handler(static_cast<int>(number), *old);
  if (sets) arm_signal(static_cast<int>(number));
  return 0;
}

}  // namespace

void* choose_action_by_number() { return reinterpret_cast<void*>(&action_by_number); }

}  // namespace heaptap::agent

using namespace heaptap::agent;

HEAPTAP_EXPORT int sigaction(int number, const LibcAction* wanted, LibcAction* old) {
  return set_action(number, wanted, old);
}
HEAPTAP_EXPORT int __sigaction(int number, const LibcAction* wanted, LibcAction* old) {
  return set_action(number, wanted, old);
}
HEAPTAP_EXPORT Handler signal(int number, Handler handler) { return set_handler(Other::kSignal, number, handler); }
HEAPTAP_EXPORT Handler ssignal(int number, Handler handler) { return set_handler(Other::kSignal, number, handler); }
HEAPTAP_EXPORT Handler bsd_signal(int number, Handler handler) { return set_handler(Other::kSignal, number, handler); }
HEAPTAP_EXPORT int siginterrupt(int number, int interrupts) {
  auto* call = real<int(int, int)>(Other::kSignalInterrupt);
  if (call == nullptr) return -1;
  const int status = call(number, interrupts);
  if (status == 0 && report_signal::is_taken(number)) {
    report_signal::note_interrupts(interrupts != 0);
  } else if (status == 0) {
    note_restarts(number, interrupts == 0);
  }
  return status;
}
HEAPTAP_EXPORT Handler sysv_signal(int number, Handler handler) {
  return set_handler(Other::kSystemVSignal, number, handler);
}
HEAPTAP_EXPORT Handler __sysv_signal(int number, Handler handler) {
  return set_handler(Other::kSystemVSignal, number, handler);
}
HEAPTAP_EXPORT Handler sigset(int number, Handler handler) { return set_handler(Other::kSignalSet, number, handler); }
