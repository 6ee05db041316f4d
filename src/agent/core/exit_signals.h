// Fatal signals with their default disposition: the agent handles them, offers a last scan of the memory, and re-raises
// each with the kernel's default action, so that status, core file and siginfo are the same. Invisible to the program:
// where it reads or sets dispositions, hooks translate (dispositions.h).
#pragma once
#include <stdint.h>

#include "agent/core/signal_action.h"

namespace heaptap::agent {

// Installs handlers for all fatal signals at their default, if the session watches the program's end. False: not now.
bool arm_signals();
// Restores the defaults, before the program forbids system calls, or the agent goes. Returns how many there were. None is armed until the
// next arm_signals().
unsigned disarm_signals();
bool arms_signals();
// For the parent, in a child that shares its memory and has disarmed its own: what the program sets to its default is armed again.
void resume_arming();

// Scope in which one thread at a time reads and sets an action: for the program, or for the agent. Waits for who has it, but not for ever:
// a signal may have interrupted it, by whose handler it was left for good, or calls this.
class ActionLock {
 public:
  explicit ActionLock(uint32_t most_pauses);
  ~ActionLock();
  ActionLock(const ActionLock&) = delete;
  ActionLock& operator=(const ActionLock&) = delete;
  static constexpr uint32_t kForProgram = 1'000;  // some 40 us
  static constexpr uint32_t kForAgent = 100'000;
};

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
