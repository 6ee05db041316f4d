// One thread that ptrace holds. All calls come from the thread that called seize(): ptrace knows no other.
//
//   seize ▸ interrupt ▸ poll … ▸ kStopped ▸ read_registers ▸ detach
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "process/thread_state.h"

namespace heaptap::process {

class TracedThread {
 public:
  enum class State : uint8_t { kRunning, kStopped, kGone };

  TracedThread(pid_t thread, bool is_leader) : thread_(thread), is_leader_(is_leader) {}

  [[nodiscard]] pid_t id() const { return thread_; }
  [[nodiscard]] State state() const { return state_; }
  // Whose code it runs, once its registers have been read. Null: of a CPU that isn't known here.
  [[nodiscard]] const arch::Cpu* cpu() const { return cpu_; }

  // 0 or errno, a number by which the caller decides. The thread runs on.
  [[nodiscard]] int seize() const;
  void interrupt();
  // Looks whether it has stopped meanwhile; never waits. Never takes the exit status of a process.
  State poll();
  // False: it isn't stopped any more. Also sees to it that a call that only the stop interrupted starts again, whatever
  // becomes of us.
  bool read_registers(StoppedThread& result);
  // Lets it go on, with the signal that it was just about to get.
  void detach();

 private:
  pid_t thread_;
  bool is_leader_;
  State state_ = State::kRunning;
  int signal_ = 0;              // that it was about to get
  bool group_stopped_ = false;  // it had been stopped before us (SIGSTOP)
  const arch::Cpu* cpu_ = nullptr;
};

}  // namespace heaptap::process
