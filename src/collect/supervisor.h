// Watches over what is recorded: drains the logs, has scans made for who asks, ends each recording when its process is
// gone, and detaches from the processes when it is time.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "collect/control_service.h"
#include "collect/launch.h"
#include "collect/recorded_processes.h"
#include "collect/recording_source.h"

namespace heaptap::collect {

struct SupervisorOptions {
  std::optional<std::chrono::nanoseconds> duration;  // then it detaches from all
  bool scan_before_letting_go = false;
};

class Supervisor {
 public:
  Supervisor(SupervisorOptions options, RecordedProcesses& processes, RecordingSource& source)
      : options_(options), processes_(processes), source_(source), control_(processes, source) {}

  // Until all that was asked for is recorded, or can't be.
  void settle();
  // Lets go of all at once, and waits until they are gone.
  void abandon();
  // Stays until the program, if there is one, and all that is recorded have ended or were detached.
  void watch(std::optional<Launched> launched);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_over() const;
  void wait_for_news();
  void adapt_pause(uint64_t drained_bytes);
  void look_after_program();
  void end_those_that_left();
  [[nodiscard]] bool is_time_to_let_go() const;
  void let_all_go();

  SupervisorOptions options_;
  RecordedProcesses& processes_;
  RecordingSource& source_;
  ControlService control_;
  std::optional<Clock::time_point> let_go_at_;     // planned
  std::optional<Clock::time_point> let_go_since_;  // done
  int pause_ms_ = 1;
  // The program's end was told, but not its status: a tracer is to hear of that first.
  bool program_is_exiting_ = false;
};

}  // namespace heaptap::collect
