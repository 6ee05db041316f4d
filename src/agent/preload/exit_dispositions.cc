// Exports through which a program asks for and sets what a signal does. What the agent set itself reads as the default.
#include <stddef.h>
#include <stdint.h>

#include "agent/core/exit_signals.h"
#include "agent/preload/preload.h"
#include "agent/preload/real_functions.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace heaptap::agent {
namespace {

// struct sigaction of glibc and musl.
struct LibcAction {
  uintptr_t handler;
  uint64_t mask[16];
  int flags;
  uintptr_t restorer;
};

void hide_own_handler(int number, LibcAction& action) {
  if (!is_fatal(number) || !is_own_handler(action.handler)) return;
  const KernelAction& programs = programs_action(number);
  action.handler = 0;
  action.mask[0] = programs.mask;
  action.flags = static_cast<int>(programs.flags);
  action.restorer = programs.restorer;
}

int set_action(int number, const LibcAction* wanted, LibcAction* old) {
  auto* call = real<int(int, const LibcAction*, LibcAction*)>(Other::kSignalAction);
  if (call == nullptr) return -1;
  const int status = call(number, wanted, old);
  if (status != 0) return status;
  // Both may be the same place: the kernel is asked what was set.
  const bool sets = wanted != nullptr;
  if (old != nullptr) hide_own_handler(number, *old);
  if (sets) arm_signal(number);
  return 0;
}

using Handler = uintptr_t;

Handler set_handler(Other function, int number, Handler handler) {
  auto* call = real<Handler(int, Handler)>(function);
  if (call == nullptr) return ~Handler{0};
  const Handler before = call(number, handler);
  if (handler == 0) arm_signal(number);
  return is_own_handler(before) ? 0 : before;
}

// sigaction(2) of programs that call it by number.
long action_by_number(long call_number, long number, const KernelAction* wanted, KernelAction* old, size_t mask_bytes) {
  auto* call = real<long(long, long, const KernelAction*, KernelAction*, size_t)>(Other::kSystemCall);
  if (call == nullptr) return -1;
  const bool sets = wanted != nullptr;
  const long status = call(call_number, number, wanted, old, mask_bytes);
  if (status != 0) return status;
  if (old != nullptr && is_own_handler(old->handler)) *old = programs_action(static_cast<int>(number));
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
  if (status == 0) note_restarts(number, interrupts == 0);
  return status;
}
HEAPTAP_EXPORT Handler sysv_signal(int number, Handler handler) {
  return set_handler(Other::kSystemVSignal, number, handler);
}
HEAPTAP_EXPORT Handler __sysv_signal(int number, Handler handler) {
  return set_handler(Other::kSystemVSignal, number, handler);
}
HEAPTAP_EXPORT Handler sigset(int number, Handler handler) { return set_handler(Other::kSignalSet, number, handler); }
