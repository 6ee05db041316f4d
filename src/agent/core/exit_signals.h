// Fatal signals with their default disposition: the agent handles them, offers a last scan of the memory, and re-raises
// each with the kernel's default action, so that status, core file and siginfo are the same. Invisible to the program:
// where it reads or sets dispositions, the hooks of the preloaded library translate.
#pragma once
#include <stdint.h>

#include "agent/core/signal_action.h"

namespace heaptap::agent {

// Installs handlers for all fatal signals at their default, if the session watches the program's end.
void arm_signals();
// Restores the defaults, before the program forbids system calls, or the agent goes. Returns how many there were. Until the next
// arm_signals() none is armed, but by a thread that is just doing it.
unsigned disarm_signals();

// The program has just set this signal to its default.
void arm_signal(int number);

// The program has just said whether this signal restarts system calls.
void note_restarts(int number, bool restarts);

// An object reads dispositions by direct system calls, which can't be translated, and depends on the results: no signal
// is handled from now on.
void leave_signals_alone();
bool leaves_signals_alone();

// Called in the handler of this signal: re-raises it where the program's disposition `programs` is a default that ends
// the process. The signal keeps all that the kernel reported with it, and is blocked until this handler has returned,
// so that the process ends with the registers of the interrupted code.
void let_happen(int number, const KernelAction& programs, void* info, void* context);

bool is_fatal(int number);  // ends the process by default, and can be handled
bool is_own_handler(uintptr_t handler);
// The program's disposition of a signal that the agent handles: the default, with the program's flags and mask.
const KernelAction& programs_action(int number);

}  // namespace heaptap::agent
