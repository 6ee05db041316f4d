#include "console/interrupts.h"

#include <atomic>
#include <csignal>

namespace heaptap::console {
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
  action.sa_flags = SA_RESTART;
  (void)sigaction(SIGINT, &action, &g_before);
}

InterruptWatch::~InterruptWatch() { (void)sigaction(SIGINT, &g_before, nullptr); }

bool is_interrupted() { return interrupted; }

void forget_interrupt() { interrupted = false; }

void throw_if_interrupted() {
  if (interrupted) throw Interrupted();
}

}  // namespace heaptap::console
