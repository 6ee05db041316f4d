// Stops all threads of a process, also those that are made or end meanwhile. Lives in the one thread that traces.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "process/stopped_process.h"
#include "process/traced_thread.h"

namespace heaptap::process {

class ThreadStopper {
 public:
  ThreadStopper(pid_t process, const StopLimits& limits) : process_(process), limits_(limits) {}

  // Empty, or why it can't be done; then everything has been let go.
  [[nodiscard]] std::string stop_all();
  void let_go();

  // After stop_all().
  [[nodiscard]] std::vector<StoppedThread>& threads() { return stopped_; }
  [[nodiscard]] wire::Architecture architecture() const { return architecture_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string try_to_stop_all();
  [[nodiscard]] std::string adopt_new_threads(bool& found);
  [[nodiscard]] std::string wait_until_stopped();
  [[nodiscard]] bool read_all_registers();
  [[nodiscard]] std::string find_architecture();
  [[nodiscard]] std::string why_refused(pid_t thread, int reason) const;
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
