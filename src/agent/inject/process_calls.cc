#include "agent/inject/process_calls.h"

#include <asm/unistd.h>

#include "agent/core/dispositions.h"
#include "agent/core/exit_signals.h"
#include "agent/core/program_limits.h"

namespace heaptap::agent {
namespace {

using wire::InjectedFunction;
using wire::InjectedWay;

// Makes the program's call, and hides the agent's handler in the old action, which may be in the same memory as the wanted one.
template <typename Action, typename Call>
auto set_action(int number, bool sets, Action* old, const Call& call) {
  const auto locked = [&] {
    const ActionLock lock(ActionLock::kForProgram);
    const auto status = call();
    if (status == 0 && old != nullptr) hide_own_handler(number, *old);
    return status;
  };
  const auto status = locked();
  if (status == 0 && sets) arm_signal(number);
  return status;
}

uintptr_t set_action(const InjectedFunction& hooked, const uintptr_t* arguments) {
  using Set = int(int, const LibcAction*, LibcAction*);
  const auto number = static_cast<int>(arguments[0]);
  const auto* const wanted = reinterpret_cast<const LibcAction*>(arguments[1]);
  auto* const old = reinterpret_cast<LibcAction*>(arguments[2]);
  auto* const function = reinterpret_cast<Set*>(hooked.original);
  return static_cast<uintptr_t>(
      set_action(number, wanted != nullptr, old, [=] { return function(number, wanted, old); }));
}

uintptr_t call_by_number(const InjectedFunction& hooked, const uintptr_t* arguments) {
  using Number = long(long, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
  constexpr uintptr_t kNoSeventh = 0;  // none of these calls has so many
  const auto number = static_cast<long>(arguments[0]);
  auto* const function = reinterpret_cast<Number*>(hooked.original);
  const auto call = [=] {
    return function(number, arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], kNoSeventh);
  };
  if (number != __NR_rt_sigaction) return static_cast<uintptr_t>(restrict_by_number(number, arguments + 1, call));
  auto* const old = reinterpret_cast<KernelAction*>(arguments[3]);
  return static_cast<uintptr_t>(set_action(static_cast<int>(arguments[1]), arguments[2] != 0, old, call));
}

uintptr_t control(const InjectedFunction& hooked, const uintptr_t* arguments) {
  using Control = int(int, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
  const auto operation = static_cast<int>(arguments[0]);
  auto* const function = reinterpret_cast<Control*>(hooked.original);
  return static_cast<uintptr_t>(restrict_by_prctl(operation, arguments + 1, [=] {
    return function(operation, arguments[1], arguments[2], arguments[3], arguments[4]);
  }));
}

}  // namespace

bool concerns_agent(const InjectedFunction& hooked, const uintptr_t* arguments) {
  if (hooked.way == InjectedWay::kSignalAction) return true;
  if (hooked.way == InjectedWay::kControl) return may_restrict(static_cast<int>(arguments[0]));
  const auto number = static_cast<long>(arguments[0]);
  return number == __NR_rt_sigaction || may_restrict_by_number(number, arguments + 1);
}

uintptr_t make_process_call(const InjectedFunction& hooked, const uintptr_t* arguments) {
  if (hooked.way == InjectedWay::kSignalAction) return set_action(hooked, arguments);
  if (hooked.way == InjectedWay::kControl) return control(hooked, arguments);
  return call_by_number(hooked, arguments);
}

}  // namespace heaptap::agent
