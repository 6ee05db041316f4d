// Stopped process: all its threads are held by ptrace, and their registers are known. It continues undisturbed when
// this object is destroyed, when the process that owns the object ends, and when release() is called: no signal is
// lost, a process stopped by SIGSTOP stays stopped, interrupted system calls are restarted.
//
// Visible effects of a stop: a relative timeout of an interrupted call starts anew (epoll_wait, recv with a timeout,
// sigtimedwait, semtimedop), and a call that had transferred some bytes returns their number (write, recv with
// MSG_WAITALL), as after a SIGSTOP.
//
// Use: from one thread. A thread of its own does the tracing, since ptrace binds a tracee to a thread; when that thread
// ends, the kernel releases all tracees. While stop() runs, no other thread of this process should wait for the
// target's state changes (waitpid): it might see the stop.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "capture/process/thread_state.h"
#include "common/base/result.h"
#include "common/wire/architecture.h"

namespace heaptap::process {

struct StopLimits {
  std::chrono::milliseconds all_stopped{5000};    // then the attempt is given up
  std::chrono::milliseconds deep_in_kernel{200};  // then a thread in uninterruptible sleep is left as it is
};

class StoppedProcess {
 public:
  // The error says why it can't be stopped, and what the user can do. Then the process continues as before.
  static base::Result<StoppedProcess> stop(pid_t process, const StopLimits& limits = {});
  // A process held by another owner, which releases it when `release` is called, once.
  struct Held {
    pid_t process = 0;
    wire::Architecture architecture = wire::Architecture::kUnknown;
    std::vector<StoppedThread> threads;
  };
  static StoppedProcess held(Held process, std::function<void()> release);
  StoppedProcess(StoppedProcess&&) noexcept;
  StoppedProcess& operator=(StoppedProcess&&) noexcept;
  ~StoppedProcess();

  void release();

  [[nodiscard]] pid_t process() const;
  [[nodiscard]] wire::Architecture architecture() const;  // of the code that it runs
  [[nodiscard]] unsigned word_bytes() const;
  // For /proc/…: maps and mem of an exited leader are unreadable.
  [[nodiscard]] pid_t live_thread() const;
  [[nodiscard]] const std::vector<StoppedThread>& threads() const;  // ascending by id
  // Time since the first thread was asked to stop, or since held(), until release() or now.
  [[nodiscard]] uint64_t stopped_ns() const;

 private:
  struct State;
  explicit StoppedProcess(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace heaptap::process
