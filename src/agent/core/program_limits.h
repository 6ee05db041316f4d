// Calls by which the program restricts itself, as far as the agent must obey: seccomp, a clock that faults, a handler for system calls.
// The agent stops using what they forbid before they are made: after it would be too late.
#pragma once
#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/call_permission.h"
#include "agent/core/clock.h"

namespace heaptap::agent {
namespace limits {

// From linux/prctl.h and linux/seccomp.h.
inline constexpr int kSetSeccomp = 22;
inline constexpr int kSetClock = 26;     // PR_SET_TSC
inline constexpr int kSetDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH
inline constexpr uintptr_t kStrict = 1;  // SECCOMP_MODE_STRICT
inline constexpr uintptr_t kFilter = 2;
inline constexpr uintptr_t kOperationOfMode = 1;  // SECCOMP_SET_MODE_STRICT and _FILTER are one less than the modes

// Strict seccomp disables the time-stamp counter, and so may the program itself: reading it would then kill it.
inline bool forbids_clock(int operation, uintptr_t argument) {
  constexpr uintptr_t kFaults = 2;  // PR_TSC_SIGSEGV
  return (operation == kSetSeccomp && argument == kStrict) || (operation == kSetClock && argument == kFaults);
}

// Before the call, the agent stops making system calls that the program's handler would get.
template <typename Call>
auto dispatch(const uintptr_t* arguments, const Call& call) {
  constexpr uintptr_t kOff = 0;  // PR_SYS_DISPATCH_OFF; _EXCLUSIVE_ON is 1
  constexpr uintptr_t kInclusiveOn = 2;
  const auto* const selector = reinterpret_cast<const volatile uint8_t*>(arguments[3]);
  if (arguments[0] == kOff) {
    const auto result = call();
    if (result == 0) (void)end_dispatch();
    return result;
  }
  const CallDispatch before = begin_dispatch(arguments[1], arguments[2], arguments[0] == kInclusiveOn, selector);
  const auto result = call();
  if (result != 0) put_back(before);
  return result;
}

}  // namespace limits

// Whether this operation of prctl is one of these calls.
inline bool may_restrict(int operation) {
  return operation == limits::kSetSeccomp || operation == limits::kSetClock || operation == limits::kSetDispatch;
}

// The same of a call by number, of seccomp(2) or prctl.
inline bool may_restrict_by_number(long number, const uintptr_t* arguments) {
  if (number == __NR_prctl) return may_restrict(static_cast<int>(arguments[0]));
  return number == __NR_seccomp && arguments[0] < limits::kFilter;
}

// Makes a call of prctl, with the operation's four arguments.
template <typename Call>
auto restrict_by_prctl(int operation, const uintptr_t* arguments, const Call& call) {
  const uintptr_t argument = arguments[0];
  if (limits::forbids_clock(operation, argument))
    forbid_clock();  // also if the call fails: counts already given are later than the clock
  if (operation == limits::kSetDispatch) return limits::dispatch(arguments, call);
  if (operation != limits::kSetSeccomp || (argument != limits::kStrict && argument != limits::kFilter)) return call();
  Restriction restriction(argument == limits::kStrict ? Restriction::Kind::kStrict : Restriction::Kind::kFilter);
  const auto result = call();
  if (result == 0) restriction.came_about();
  return result;
}

// Makes a call for which may_restrict_by_number(), with its five arguments. A filter for all threads that conflicts with one of them
// returns that thread's number.
template <typename Call>
long restrict_by_number(long number, const uintptr_t* arguments, const Call& call) {
  if (number == __NR_prctl) return restrict_by_prctl(static_cast<int>(arguments[0]), arguments + 1, call);
  const uintptr_t strict[] = {limits::kStrict, 0, 0, 0};
  if (arguments[0] + limits::kOperationOfMode == limits::kStrict)
    return restrict_by_prctl(limits::kSetSeccomp, strict, call);
  Restriction restriction(Restriction::Kind::kFilter);
  const long result = call();
  if (result >= 0) restriction.came_about();  // with some flags it is a new descriptor
  return result;
}

}  // namespace heaptap::agent
