// Signal dispositions as the program reads them: where the agent has a handler, those that the program has set.
#pragma once
#include <stdint.h>

#include "agent/core/signal_action.h"

namespace heaptap::agent {

// struct sigaction of glibc and musl.
struct LibcAction {
  uintptr_t handler;
  SignalSet mask[16];
  int flags;
  uintptr_t restorer;
};

// Puts the program's in the place of the agent's.
void hide_own_handler(int number, LibcAction& action);
void hide_own_handler(int number, KernelAction& action);

}  // namespace heaptap::agent
