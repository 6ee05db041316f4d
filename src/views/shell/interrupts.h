// Ctrl-C handling while a command runs: it ends the command, not the console.
#pragma once
#include <csignal>

namespace heaptap::shell {

// Exception thrown by long operations after Ctrl-C.
struct Interrupted {};

// Scope of a SIGINT handler, one at a time. The handler also calls `also`.
class InterruptWatch {
 public:
  explicit InterruptWatch(void (*also)(int signal) = nullptr);
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();
};

// Scope in which SIGINT is blocked. It is delivered only in waits with the previous mask (ppoll), so that none is missed between a
// check of is_interrupted() and the wait.
class InterruptsHeld {
 public:
  InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;
  ~InterruptsHeld();
  [[nodiscard]] const sigset_t& outer() const { return before_; }

 private:
  sigset_t before_{};
};

bool is_interrupted();
void forget_interrupt();
void throw_if_interrupted();

}  // namespace heaptap::shell
