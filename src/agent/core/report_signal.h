// Signal that requests a report from the program (wire::LogHeader::report_signal): the agent handles it, counts it in
// the log, and then runs the program's own handler, but never an action that ends the program. Invisible to the
// program: where it reads or sets dispositions, the hooks of the preloaded library translate.
#pragma once
#include <stdint.h>

#include "agent/core/exit_signals.h"

namespace heaptap::agent::report_signal {

// Installs the handler at the start of a session. No effect where no report may be requested.
void arm();
// The program is about to forbid system calls: if the program ignores the signal, the kernel ignores it again. Other
// dispositions keep the handler, since a signal that ends the process would be worse.
void withdraw();
// Gives the signal up for good: restores the program's disposition.
void leave();

// Whether the program's dispositions for this signal are translated. Not in children that share the memory, or aren't recorded.
bool is_taken(int number);
bool is_own_handler(uintptr_t handler);
// The program's disposition, while `is_own_handler`.
KernelAction programs_action();

// The program sets this action; returns the one to set in the kernel. Signals are blocked in the calling thread until that is done.
KernelAction take(const KernelAction& wanted);
// The C library has set the action that take() returned, with a restorer of its own.
void note_restorer();
// The C library has set the program's action directly, not the one that take() returned.
void adopt();
// siginterrupt was called: applies to later calls of signal() and to the current action.
void note_interrupts(bool interrupts);
bool interrupts();

// Scope that blocks the report signal in the calling thread; system calls must be permitted.
class SignalBlocked {
 public:
  SignalBlocked();
  ~SignalBlocked();
  SignalBlocked(const SignalBlocked&) = delete;
  SignalBlocked& operator=(const SignalBlocked&) = delete;

 private:
  uint64_t before_ = 0;
  bool changed_ = false;
};

// Scope of an exec: a signal that the program ignores stays ignored across it, while a handler would be reset to the default.
class IgnoredForExec {
 public:
  IgnoredForExec();
  ~IgnoredForExec();  // the exec failed, or happens in another process
  IgnoredForExec(const IgnoredForExec&) = delete;
  IgnoredForExec& operator=(const IgnoredForExec&) = delete;

 private:
  bool changed_ = false;
};

}  // namespace heaptap::agent::report_signal
