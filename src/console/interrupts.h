// Ctrl-C while a command runs: the command ends, the console doesn't.
#pragma once
#include <csignal>

namespace heaptap::console {

// Thrown by what takes long, once the user has had enough of it.
struct Interrupted {};

// Takes SIGINT over for as long as it lives, one at a time. `also` is called by the handler.
class InterruptWatch {
 public:
  explicit InterruptWatch(void (*also)(int signal) = nullptr);
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();
};

// Ctrl-C comes only where this thread waits by the mask that there was before (ppoll): none is missed between a look at
// is_interrupted() and the wait.
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

}  // namespace heaptap::console
