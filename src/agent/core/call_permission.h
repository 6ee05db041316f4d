// The one place that knows whether the agent may make system calls of its own. A program that takes them away from itself, by
// strict mode or by a filter, decided for its own calls: what the agent asked of the kernel behind that might kill it, or call
// its SIGSYS handler. What can't be asked then isn't done (docs/decisions/0029).
//
// kernel.h asks here before each call, so that none can be forgotten. Who has another way asks himself first.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/platform.h"

namespace heaptap::agent {

// Whether the calling thread may make system calls of the agent's own now. Doesn't ask the kernel.
bool may_call();

// Whether some thread of the process is under a filter or in strict mode, or is about to be.
bool is_restricted();

// Zeroed memory from what was put by before the filter came, for as long as it lasts; else null. Never given back.
void* take_reserve(size_t bytes);

// Puts that memory by, if it isn't yet. Where calls may be made.
void make_reserve();

// From now on new memory comes out of the reserve, as long as it lasts: a mapping might be refused by a filter that nobody saw, or be
// locked, and take what the program may lock.
void keep_to_reserve();
void leave_reserve();
bool keeps_to_reserve();

// How much address space it is.
size_t reserve_bytes();

// The program was started under filters that heaptap itself is not under: nobody knows what they allow. Asks the kernel by
// calls that the loader has just made for itself. Once, before the first session.
bool starts_under_unknown_filters();

// Lives while the program asks the kernel for strict mode or a filter. From before that call on the agent makes none: behind
// it would be too late. The call that failed changed nothing.
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
  bool came_about_ = false;
};

// The program asked for the calling thread's system calls to be dispatched to a handler of its own, but for those of the code in
// [start, start + bytes); of that code alone, where `only_within`. What held before.
CallDispatch begin_dispatch(uintptr_t start, uintptr_t bytes, bool only_within, const volatile uint8_t* selector);
CallDispatch end_dispatch();
// Where the call failed.
void put_back(const CallDispatch& before);

}  // namespace heaptap::agent
