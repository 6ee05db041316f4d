#include "views/shell/interrupts.h"

#include <atomic>
#include <csignal>

namespace heaptap::shell {
namespace {

std::atomic<bool> interrupted = false;
void (*g_also)(int) = nullptr;
struct sigaction g_before{};

void on_interrupt(int number) {
  interrupted = true;
  if (g_also != nullptr) g_also(number);
}

}  // namespace

InterruptWatch::InterruptWatch(void (*also)(int)) {
  g_also = also;
  interrupted = false;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  action.sa_flags = 0;  // interrupts a wait for an answer, see views/client/client.h
  (void)sigaction(SIGINT, &action, &g_before);
}

InterruptWatch::~InterruptWatch() { (void)sigaction(SIGINT, &g_before, nullptr); }

InterruptsHeld::InterruptsHeld() {
  sigset_t interrupt{};
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  (void)pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
}

InterruptsHeld::~InterruptsHeld() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool is_interrupted() { return interrupted; }

void forget_interrupt() { interrupted = false; }

void throw_if_interrupted() {
  if (interrupted) throw Interrupted();
}

}  // namespace heaptap::shell
