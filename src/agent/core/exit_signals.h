// Signals that end the process because the program left them alone: the agent handles them, offers a last look at the
// memory, and lets each happen again as the kernel does it by default, so that status, core file and siginfo are the same.
// The program sees none of it: where it asks or sets dispositions, the hooks of the preloaded library translate.
#pragma once
#include <stdint.h>

#include "agent/core/signal_action.h"

namespace heaptap::agent {

// Handles all fatal signals that are at their default. Once a session, where the end is watched.
void arm_signals();
// Puts the defaults back: the program is about to forbid system calls, and has not yet.
void disarm_signals();

// The program has just set this signal to its default.
void arm_signal(int number);

// The program has just said whether this signal restarts system calls.
void note_restarts(int number, bool restarts);

// An object asks for dispositions by system calls of its own, which can't be translated, and acts on what it finds: from now on
// no signal is handled.
void leave_signals_alone();
bool leaves_signals_alone();

// In a handler of this signal: what it does where the program has set `programs`, a default that ends it. The same signal comes
// once more with all that the kernel said of it. It is blocked until this handler has returned, so that the process ends with the
// registers that it was interrupted with.
void let_happen(int number, const KernelAction& programs, void* info, void* context);

bool is_fatal(int number);  // ends the process by default, and can be handled
bool is_own_handler(uintptr_t handler);
// What the program set for a signal that the agent handles: its default, with the flags and mask that it gave.
const KernelAction& programs_action(int number);

}  // namespace heaptap::agent
