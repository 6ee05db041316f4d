// Permission for the agent's own system calls, decided here alone. A program that enters seccomp strict mode or
// installs a filter restricts its own calls: a system call of the agent could kill the program or invoke its SIGSYS
// handler. Where calls are not permitted, the agent does without (docs/decisions/0029).
//
// kernel.h checks this before each call. Callers with a fallback check it themselves first.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/platform.h"

namespace heaptap::agent {

// Whether the calling thread may make system calls for the agent now. Makes no system call.
bool may_call();

// Whether it may make one in the program's name, as those that the program asks for.
bool may_call_for_program();

// Whether some thread of the process is under a filter or in strict mode, or is about to be.
bool is_restricted();

// Zeroed memory from the reserve made before the filter was installed; null when it is used up. Never given back.
void* take_reserve(size_t bytes);

// Allocates the reserve once. Call only where system calls may be made.
void make_reserve();

// From now on new memory comes from the reserve while it lasts: a mapping could be refused by an unnoticed filter, or
// be locked and count against the program's memory lock limit.
void keep_to_reserve();
void leave_reserve();
bool keeps_to_reserve();

// Address space of the reserve.
size_t reserve_bytes();

// Whether the program was started under filters that heaptap itself isn't under, with unknown rules. Checks with system
// calls that the loader has just made. Called once, before the first session.
bool starts_under_unknown_filters();

// Scope of the program's request for strict mode or a filter. The agent makes no system calls from before the request
// on: after it would be too late. A request that failed changes nothing.
class Restriction {
 public:
  enum class Kind { kStrict, kFilter };
  explicit Restriction(Kind kind);
  ~Restriction();
  Restriction(const Restriction&) = delete;
  Restriction& operator=(const Restriction&) = delete;

  void came_about() { came_about_ = true; }

 private:
  const Kind kind_;
  const uint32_t was_strict_;
  const bool armed_;  // signals, before
  bool came_about_ = false;
};

// The program enabled syscall user dispatch for the calling thread, except for code in [start, start + bytes), or only
// for that code if `only_within`. Returns the previous state.
CallDispatch begin_dispatch(uintptr_t start, uintptr_t bytes, bool only_within, const volatile uint8_t* selector);
CallDispatch end_dispatch();
// Restores the previous state after the request failed.
void put_back(const CallDispatch& before);

}  // namespace heaptap::agent
