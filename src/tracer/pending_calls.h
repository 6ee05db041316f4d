// The watched calls of one thread that haven't returned: at most one, and one more for each signal handler that interrupted
// another. What a watched call does in turn is part of it.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "arch/cpu.h"
#include "tracer/loaded_objects.h"
#include "wire/mapping.h"

namespace heaptap::tracer {

struct PendingCall {
  FoundFunction called;
  wire::Function recorded_as = wire::Function::kNone;
  arch::CallPlace place;
  uint64_t block = 0;       // that it releases, or where it leaves its result
  uint64_t size_bytes = 0;  // that it allocates or maps
  uint64_t old_size_bytes = 0;
  wire::MappedMemory memory{};  // that it maps, or what its access is to be
  uint32_t stack = 0;
  bool releases = false;            // a release was recorded that a failure takes back
  bool is_event = true;             // false: nothing of it is recorded (--omit)
  bool leaves_old = false;          // a mapping that moves stays where it was, too
  bool goes_on_in_release = false;  // it has jumped to another watched function, with which it ends
  uint64_t inner_operator = 0;      // the operator new of another object that it has called in turn; 0: none
  arch::CallPlace inner_place{};    // of that call
  bool is_interrupted = false;      // a signal handler was begun since
  uint64_t interrupted_at = 0;      // the stack pointer then
  uint64_t awaited_return = 0;      // a breakpoint is there because of it; 0: none
  bool may_be_missed = false;       // and was away for a while: if its return isn't seen, an event is lost

  // Whether something is recorded when it returns: a release was at its beginning.
  [[nodiscard]] bool is_recorded_at_return() const {
    return is_event && wire::facts_of(called.function).role != wire::Role::kRelease;
  }
};

// While a call is under way its return address stays where it is.
bool still_stands(const arch::CallPlace& place, arch::TargetMemory& memory, const arch::Cpu& cpu);

class PendingCalls {
 public:
  // The call that one at `place` would be a part of; null: it is a call of its own. Forgets those that were left without a
  // return (longjmp, exceptions).
  PendingCall* enclosing(const arch::CallPlace& place, const FoundFunction& called, arch::TargetMemory& memory,
                         const arch::Cpu& cpu);
  void push(const PendingCall& call);

  // The call that ends at the return instruction where the thread stands; null: none.
  PendingCall* ending(const arch::Cpu& cpu, const arch::RegisterImage& registers);
  // The call that was waited for at this address and has come back there; null: none.
  PendingCall* returned(uint64_t address, uint64_t stack_pointer);
  // Its end was seen: it goes, and all that were begun after it, which were left.
  void pop(const PendingCall* call);
  // The breakpoint at this address isn't there for a while.
  void may_miss_returns(uint64_t address);

  // The thread is about to run a signal handler; it has run it and is back in what it interrupted.
  // True: it interrupts a call that wasn't interrupted before.
  bool interrupt(uint64_t stack_pointer);
  void handler_returned(uint64_t resumed_at);
  [[nodiscard]] bool has_interrupted() const;
  // Where no return is awaited any more, since that was asked for last.
  [[nodiscard]] std::vector<uint64_t> take_ended_awaits() { return std::exchange(ended_awaits_, {}); }
  // How many calls are gone that may have come back unseen, with something to record; since that was asked for last.
  [[nodiscard]] unsigned take_missed() { return std::exchange(missed_, 0U); }
  [[nodiscard]] bool is_empty() const { return calls_.empty(); }
  [[nodiscard]] PendingCall* innermost() { return calls_.empty() ? nullptr : &calls_.back(); }
  void clear();

 private:
  void pop_after(const PendingCall* call);
  void pop_last();
  void forget(const PendingCall& call);

  std::vector<PendingCall> calls_;
  std::vector<uint64_t> ended_awaits_;
  unsigned missed_ = 0;
};

}  // namespace heaptap::tracer
