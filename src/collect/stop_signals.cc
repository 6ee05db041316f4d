#include "collect/stop_signals.h"

#include <atomic>
#include <csignal>

namespace heaptap::collect::stop_signals {
namespace {

std::atomic<pid_t> g_forward_to{0};
std::atomic<int> g_requests{0};

void take_signal(int number) {
  const pid_t program = g_forward_to.load(std::memory_order_relaxed);
  if (program > 0) {
    kill(program, number);
  } else {
    g_requests.fetch_add(1, std::memory_order_relaxed);
  }
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

// Who started heaptap with nohup wants it to stay.
bool is_ignored(int number) {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void forward_to(pid_t program) {
  static const bool stays_at_hangup = is_ignored(SIGHUP);
  g_forward_to.store(program, std::memory_order_relaxed);
  set_handler(SIGPIPE, SIG_IGN);
  set_handler(SIGTERM, take_signal);
  if (program > 0 || !stays_at_hangup) set_handler(SIGHUP, take_signal);
  for (const int number : {SIGINT, SIGQUIT}) set_handler(number, program > 0 ? SIG_IGN : take_signal);
}

int requests() { return g_requests.load(std::memory_order_relaxed); }

}  // namespace heaptap::collect::stop_signals
