// Ctrl-C while a command runs: the command ends, the console doesn't.
#pragma once

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

bool is_interrupted();
void forget_interrupt();
void throw_if_interrupted();

}  // namespace heaptap::console
