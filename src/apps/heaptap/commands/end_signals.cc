#include "apps/heaptap/commands/end_signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/exit_status.h"

namespace heaptap::app {

EndSignals::EndSignals() {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, number);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  descriptor_.reset(signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
}

void EndSignals::unblock() const { pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }

bool EndSignals::wait(int timeout_ms) {
  pollfd wait{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, timeout_ms) <= 0) return true;
  signalfd_siginfo signal{};
  if (read(descriptor_.get(), &signal, sizeof signal) == sizeof signal) number_ = static_cast<int>(signal.ssi_signo);
  return false;
}

int raise_again(int number) {
  (void)std::signal(number, SIG_DFL);
  (void)std::raise(number);
  return base::kExitFailed;
}

}  // namespace heaptap::app
