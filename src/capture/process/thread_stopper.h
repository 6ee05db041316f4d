// Stopper for all threads of a process, including those that start or end in the meantime. Belongs to the one tracing thread.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <vector>

#include "capture/process/stopped_process.h"
#include "capture/process/traced_thread.h"

namespace heaptap::process {

class ThreadStopper {
 public:
  ThreadStopper(pid_t process, const StopLimits& limits) : process_(process), limits_(limits) {}

  // On error all threads continue.
  base::Result<> stop_all();
  void release();

  // A stopped thread in whose place system calls can be made; null: none.
  TracedThread* thread_for_calls();
  // After these, before release(). `signal`: that it got meanwhile; 0: none.
  base::Result<> settle(TracedThread& thread, int signal);

  // After stop_all().
  [[nodiscard]] std::vector<StoppedThread>& threads() { return stopped_; }
  [[nodiscard]] wire::Architecture architecture() const { return architecture_; }

 private:
  using Clock = std::chrono::steady_clock;

  base::Result<> try_to_stop_all();
  base::Result<bool> adopt_new_threads();  // returns whether there were any
  base::Result<> wait_until_stopped();
  [[nodiscard]] bool read_all_registers();
  base::Result<> find_architecture();
  void leave_in_kernel(TracedThread& thread);

  pid_t process_;
  StopLimits limits_;
  wire::Architecture architecture_ = wire::Architecture::kUnknown;
  Clock::time_point started_ = Clock::now();
  std::map<pid_t, TracedThread> traced_;
  std::map<pid_t, StoppedThread> in_kernel_;
  std::vector<StoppedThread> stopped_;
};

}  // namespace heaptap::process
