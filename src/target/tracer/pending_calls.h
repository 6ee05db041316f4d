// The watched calls of one thread that haven't returned: at most one, and one more for each signal handler that interrupted
// another. What a watched call does in turn is part of it.
#pragma once
#include <cstdint>
#include <vector>

#include "arch/cpu.h"
#include "target/tracer/loaded_objects.h"

namespace heaptap::tracer {

struct PendingCall {
  FoundFunction called;
  arch::CallPlace place;
  uint64_t block = 0;       // that it releases, or where it leaves its result
  uint64_t size_bytes = 0;  // that it allocates or maps
  uint64_t old_size_bytes = 0;
  uint32_t stack = 0;
  bool releases = false;            // a release was recorded that a failure takes back
  bool is_event = true;             // false: nothing of it is recorded (--omit)
  bool leaves_old = false;          // a mapping that moves stays where it was, too
  bool goes_on_in_release = false;  // it has jumped to another watched function, with which it ends
  bool is_interrupted = false;      // a signal handler was begun since
};

class PendingCalls {
 public:
  // The call that one at `place` would be a part of; null: it is a call of its own. Forgets those that were left without a
  // return (longjmp, exceptions).
  PendingCall* enclosing(const arch::CallPlace& place, const FoundFunction& called, arch::TargetMemory& memory,
                         const arch::Cpu& cpu);
  void push(const PendingCall& call);

  // The call that ends at the return instruction where the thread stands; null: none.
  PendingCall* ending(const arch::Cpu& cpu, const arch::RegisterImage& registers);
  // It, and all that were begun after it.
  void pop(const PendingCall* call);

  // The thread is about to run a signal handler; it has run it and is back in what it interrupted.
  void interrupt() {
    if (!calls_.empty()) calls_.back().is_interrupted = true;
  }
  void handler_returned();
  [[nodiscard]] bool is_empty() const { return calls_.empty(); }
  [[nodiscard]] PendingCall* innermost() { return calls_.empty() ? nullptr : &calls_.back(); }
  void clear() { calls_.clear(); }

 private:
  void pop_after(const PendingCall* call);

  std::vector<PendingCall> calls_;
};

}  // namespace heaptap::tracer
