// Scope that blocks signals while a thread is created, which inherits the creator's mask: signals are handled by the
// thread that talks to the user.
#pragma once
#include <csignal>

namespace heaptap::base {

// Blocks all signals of the calling thread during its lifetime.
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
