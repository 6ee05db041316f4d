// Handling of terminating signals by a command that has to detach first. Its recorder begins to record outside of the terminal's group.
#pragma once
#include <csignal>

#include "common/base/unique_fd.h"

namespace heaptap::app {

// SIGINT, SIGTERM and SIGHUP are blocked as long as this lives, and wait() receives them. One thread.
class EndSignals {
 public:
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() { unblock(); }

  void unblock() const;
  // False: a signal came.
  bool wait(int timeout_ms);
  [[nodiscard]] int number() const { return number_; }  // the signal that came; 0: none

 private:
  sigset_t signals_{};
  base::UniqueFd descriptor_;
  int number_ = 0;
};

// Ends the process by the signal, after everything is cleaned up. Returns heaptap's exit status if it doesn't.
int raise_again(int number);

}  // namespace heaptap::app
