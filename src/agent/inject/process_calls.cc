#include "agent/inject/process_calls.h"

#include <asm/unistd.h>

#include "agent/core/dispositions.h"
#include "agent/core/exit_signals.h"
#include "agent/core/kernel.h"
#include "agent/core/program_limits.h"

namespace heaptap::agent {
namespace {

using wire::InjectedFunction;
using wire::InjectedWay;

// A call that has succeeded. The old action may be in the same memory as the wanted one.
template <typename Action>
void note_action(int number, bool sets, Action* old) {
  if (old != nullptr) hide_own_handler(number, *old);
  if (sets) arm_signal(number);
}

bool set_action(const InjectedFunction& hooked, const uintptr_t* arguments, uintptr_t& result) {
  using Set = int(int, const LibcAction*, LibcAction*);
  const auto number = static_cast<int>(arguments[0]);
  const auto* const wanted = reinterpret_cast<const LibcAction*>(arguments[1]);
  auto* const old = reinterpret_cast<LibcAction*>(arguments[2]);
  const bool sets = wanted != nullptr;
  const int status = reinterpret_cast<Set*>(hooked.original)(number, wanted, old);
  if (status == 0) note_action(number, sets, old);
  result = static_cast<uintptr_t>(status);
  return true;
}

// What fails is left to the function, which says why in errno.
bool set_action_by_number(const uintptr_t* arguments, uintptr_t& result) {
  const auto argument = [arguments](unsigned i) { return static_cast<long>(arguments[i]); };
  const long status = kernel::call_for_program(__NR_rt_sigaction, argument(1), argument(2), argument(3), argument(4));
  if (status != 0) return false;
  note_action(static_cast<int>(argument(1)), arguments[2] != 0, reinterpret_cast<KernelAction*>(arguments[3]));
  result = 0;
  return true;
}

bool call_by_number(const InjectedFunction& hooked, const uintptr_t* arguments, uintptr_t& result) {
  using Number = long(long, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
  const auto number = static_cast<long>(arguments[0]);
  if (number == __NR_rt_sigaction) return set_action_by_number(arguments, result);
  constexpr uintptr_t kNoSeventh = 0;  // none of these calls has so many
  auto* const function = reinterpret_cast<Number*>(hooked.original);
  result = static_cast<uintptr_t>(restrict_by_number(number, arguments + 1, [=] {
    return function(number, arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], kNoSeventh);
  }));
  return true;
}

bool control(const InjectedFunction& hooked, const uintptr_t* arguments, uintptr_t& result) {
  using Control = int(int, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
  const auto operation = static_cast<int>(arguments[0]);
  auto* const function = reinterpret_cast<Control*>(hooked.original);
  result = static_cast<uintptr_t>(restrict_by_prctl(operation, arguments + 1, [=] {
    return function(operation, arguments[1], arguments[2], arguments[3], arguments[4]);
  }));
  return true;
}

}  // namespace

bool concerns_agent(const InjectedFunction& hooked, const uintptr_t* arguments) {
  if (hooked.way == InjectedWay::kSignalAction) return true;
  if (hooked.way == InjectedWay::kControl) return may_restrict(static_cast<int>(arguments[0]));
  const auto number = static_cast<long>(arguments[0]);
  return number == __NR_rt_sigaction || may_restrict_by_number(number, arguments + 1);
}

bool make_process_call(const InjectedFunction& hooked, const uintptr_t* arguments, uintptr_t& result) {
  if (hooked.way == InjectedWay::kSignalAction) return set_action(hooked, arguments, result);
  if (hooked.way == InjectedWay::kControl) return control(hooked, arguments, result);
  return call_by_number(hooked, arguments, result);
}

}  // namespace heaptap::agent
