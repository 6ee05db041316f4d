// Thread held by ptrace. All calls must come from the thread that called seize(), as ptrace requires.
//
//   seize ▸ interrupt ▸ poll … ▸ kStopped ▸ read_registers ▸ detach
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "capture/process/thread_state.h"

namespace heaptap::process {

class TracedThread {
 public:
  enum class State : uint8_t { kRunning, kStopped, kGone };

  TracedThread(pid_t thread, bool is_leader) : thread_(thread), is_leader_(is_leader) {}

  [[nodiscard]] pid_t id() const { return thread_; }
  [[nodiscard]] State state() const { return state_; }
  // The CPU whose code it runs, once its registers have been read. Null: unsupported CPU.
  [[nodiscard]] const arch::Cpu* cpu() const { return cpu_; }

  // 0 or errno, for the caller's decision. The thread continues.
  [[nodiscard]] int seize() const;
  void interrupt();
  // Checks for a stop; never waits. Never takes the exit status of a process.
  State poll();
  // False: it is no longer stopped. Also makes a call that only the stop interrupted restart, whatever happens to this
  // process.
  bool read_registers(StoppedThread& result);
  // Whether system calls can be made in its place: it isn't about to take a signal, and wasn't stopped before.
  [[nodiscard]] bool can_make_calls() const { return state_ == State::kStopped && signal_ == 0 && !group_stopped_; }
  // Before these: its stops at system calls are told from signals (WaitStatus::is_in_system_call). False: not possible.
  [[nodiscard]] bool tell_calls_from_signals() const;
  // After these: it continues, with this signal, into another stop, in which the kernel restarts what it was in.
  void go_on_into_stop(int signal);
  // Lets it continue, with its pending signal.
  void detach();

 private:
  pid_t thread_;
  bool is_leader_;
  State state_ = State::kRunning;
  int signal_ = 0;              // pending delivery
  bool group_stopped_ = false;  // it was already stopped (SIGSTOP)
  const arch::Cpu* cpu_ = nullptr;
};

}  // namespace heaptap::process
