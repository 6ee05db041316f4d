// The signal by which a program is asked for a report (wire::LogHeader::report_signal): the agent handles it, counts it in the log,
// and lets what the program set for it happen, but for its end. The program sees none of it: where it asks or sets dispositions,
// the hooks of the preloaded library translate.
#pragma once
#include <stdint.h>

#include "agent/core/exit_signals.h"

namespace heaptap::agent::report_signal {

// As a session starts. Does nothing where no report may be asked for.
void arm();
// The program is about to forbid system calls: what it ignores is ignored by the kernel again. All else stays, since a signal that
// ends the process is worse.
void withdraw();
// For good: the program's disposition is put back.
void leave();

// Whether what the program sets for this signal is to be translated. Not in children that share the memory, or aren't recorded.
bool is_taken(int number);
bool is_own_handler(uintptr_t handler);
// What the program set, while `is_own_handler`.
KernelAction programs_action();

// The program sets this; gives what the kernel is to have instead. Signals stay out of the calling thread until that is done.
KernelAction take(const KernelAction& wanted);
// The C library has set what `take` gave, with a restorer of its own.
void note_restorer();
// It has set what it wanted, past `take`.
void adopt();
// siginterrupt was called: for signal() later on, and for the action that is there.
void note_interrupts(bool interrupts);
bool interrupts();

// Of the calling thread, where system calls may be made.
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

// While something is executed: what the program ignores is ignored there, too, and a handler wouldn't be.
class IgnoredForExec {
 public:
  IgnoredForExec();
  ~IgnoredForExec();  // it failed, or another process does it
  IgnoredForExec(const IgnoredForExec&) = delete;
  IgnoredForExec& operator=(const IgnoredForExec&) = delete;

 private:
  bool changed_ = false;
};

}  // namespace heaptap::agent::report_signal
