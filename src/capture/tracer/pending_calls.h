// Watched calls of one thread that haven't returned: at most one, plus one for each signal handler that interrupted
// another. Nested watched calls are part of the outer one.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "capture/tracer/loaded_objects.h"
#include "common/arch/cpu.h"
#include "common/wire/mapping.h"

namespace heaptap::tracer {

struct PendingCall {
  FoundFunction called;
  wire::Function recorded_as = wire::Function::kNone;
  arch::CallPlace place;
  uint64_t block = 0;       // released block, or the place for the result
  uint64_t size_bytes = 0;  // allocated or mapped size
  uint64_t old_size_bytes = 0;
  wire::MappedMemory memory{};  // mapped memory, or its new access
  uint32_t stack = 0;
  bool releases = false;            // a release was recorded, to be undone on failure
  bool is_event = true;             // false: not recorded (--omit)
  bool leaves_old = false;          // a moved mapping also stays at its old place
  bool goes_on_in_release = false;  // it has tail-jumped to another watched function, which ends it
  uint64_t inner_operator = 0;      // nested operator new of another object; 0: none
  arch::CallPlace inner_place{};    // of that call
  bool is_interrupted = false;      // a signal handler has started since
  uint64_t interrupted_at = 0;      // the stack pointer then
  uint64_t awaited_return = 0;      // address of a breakpoint for its return; 0: none
  bool may_be_missed = false;  // its breakpoint was removed for a while: if its return isn't seen, an event is lost

  // Whether something is recorded at its return; a release was recorded at its beginning.
  [[nodiscard]] bool is_recorded_at_return() const {
    return is_event && wire::facts_of(called.function).role != wire::Role::kRelease;
  }
};

// Whether the return address is unchanged, as it is during a call.
bool still_stands(const arch::CallPlace& place, arch::TargetMemory& memory, const arch::Cpu& cpu);

class PendingCalls {
 public:
  // The call that encloses one at `place`; null: it is a call of its own. Forgets calls left without a return (longjmp,
  // exceptions).
  PendingCall* enclosing(const arch::CallPlace& place, const FoundFunction& called, arch::TargetMemory& memory,
                         const arch::Cpu& cpu);
  void push(const PendingCall& call);

  // The call that ends at the thread's current return instruction; null: none.
  PendingCall* ending(const arch::Cpu& cpu, const arch::RegisterImage& registers);
  // The awaited call that has returned to this address; null: none.
  PendingCall* returned(uint64_t address, uint64_t stack_pointer);
  // Removes a completed call, and all later ones, which were left.
  void pop(const PendingCall* call);
  // The breakpoint at this address is removed for a while.
  void may_miss_returns(uint64_t address);

  // The thread is about to run a signal handler; or it has run it and continues the interrupted code.
  // True: it interrupts a call that wasn't interrupted before.
  bool interrupt(uint64_t stack_pointer);
  void handler_returned(uint64_t resumed_at);
  [[nodiscard]] bool has_interrupted() const;
  // Addresses where no return is awaited any more, since the last call.
  [[nodiscard]] std::vector<uint64_t> take_ended_awaits() { return std::exchange(ended_awaits_, {}); }
  // Number of removed calls that may have returned unseen, with something to record, since the last call.
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
