// Keeps signals from a thread that is being made: it takes over the mask of the one that makes it, and signals are for the thread
// that talks to the user.
#pragma once
#include <csignal>

namespace heaptap::base {

// All signals of the calling thread, for as long as it lives.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all{};
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace heaptap::base
