// Supervisor of the recordings: drains the logs, runs requested scans, ends each recording when its process is gone,
// and detaches from the processes when it is time.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "capture/launch/launch.h"
#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/recording_service.h"
#include "capture/supervision/recording_source.h"
#include "capture/supervision/report_requests.h"

namespace heaptap::supervision {

struct SupervisorOptions {
  std::optional<std::chrono::nanoseconds> duration;  // then it detaches from all processes
  bool scan_before_detaching = false;
  std::optional<std::chrono::nanoseconds> mark_every = {};
  ReportWriter* report_writer = nullptr;   // null: no reports are written
  bool stays_with_program = true;          // until its end, recorded or not; else it ends after detaching from all
  bool ends_by_signal = true;              // else termination signals are for other processes
  RecorderElsewhere* elsewhere = nullptr;  // null: this machine records
};

class Supervisor {
 public:
  // All arguments must outlive it.
  Supervisor(SupervisorOptions options, RecordedProcesses& processes, RecordingSource& source,
             RecordingService& service)
      : options_(options),
        processes_(processes),
        source_(source),
        service_(service),
        reports_(processes, options.report_writer) {}

  // For sources whose programs ask for reports.
  [[nodiscard]] ReportRequests& reports() { return reports_; }

  // Until all requested recordings have begun or failed.
  void settle();
  // Detaches from all at once, and waits until they are gone.
  void abandon();
  // Runs until the program, if there is one, and all recorded processes have ended or were detached.
  void watch(std::optional<launch::Launched> launched);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_over() const;
  void wait_for_news();
  void adapt_pause(uint64_t drained_bytes);
  void set_marks();
  void look_after_program();
  void hand_on_signal();
  void end_those_that_left();
  [[nodiscard]] bool is_time_to_detach() const;
  void detach_all();
  // Requests for the end, except those for the program.
  [[nodiscard]] int requests() const;

  SupervisorOptions options_;
  RecordedProcesses& processes_;
  RecordingSource& source_;
  RecordingService& service_;
  ReportRequests reports_;
  std::optional<Clock::time_point> detach_at_;  // planned detach time
  std::optional<Clock::time_point> mark_at_;
  std::optional<Clock::time_point> detached_since_;  // time of detaching
  int requests_before_ = 0;                          // number of requests before that
  int handed_on_ = 0;                                // number of forwarded termination signals
  int pause_ms_ = 1;
  // The program's end was reported, but not its status: a tracer must get that first.
  bool program_is_exiting_ = false;
};

}  // namespace heaptap::supervision
