// Requests for change reports while a recording runs: by a signal to heaptap, a signal to a recorded process, or the
// program itself. Each adds a mark to the trace and writes the trace up to it; the report is written elsewhere, by a
// reader of traces, and the recording never waits for it.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "capture/supervision/recorded_processes.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::supervision {

// Result of a request whose sender waits.
struct ReportOutcome {
  bool is_done = false;
  // For a leak scan, blocks and bytes each: definite, indirect, possible, reachable, unknown.
  std::array<uint64_t, 10> counts{};
};
using ReportAnswer = std::function<void(const ReportOutcome& outcome)>;

// Report on one program of a process, with all that is needed to write it.
struct ReportRequest {
  pid_t process = 0;
  uint32_t image = 1;        // see RecordedProcess
  std::string trace_path;    // as named
  base::UniqueFd trace;      // for reading; none: no file
  uint64_t trace_bytes = 0;  // up to the reported moment
  base::Result<> written;    // result of writing the trace up to there
  // Destination. None: a file of its own, with the next number.
  base::UniqueFd output = {};
  // If not 0, no report is written, and the answer has the result of this leak scan.
  uint32_t scan = 0;
  // Called once, in another thread, if the sender waits.
  ReportAnswer answer = {};
};

class ReportWriter {
 public:
  ReportWriter() = default;
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;
  virtual ~ReportWriter() = default;

  // Whether a report of this process is being written or queued.
  virtual bool is_busy(pid_t process) = 0;
  // Takes a request, and returns at once.
  virtual void write(ReportRequest request) = 0;
  // No more reports of this program will be requested.
  virtual void end(pid_t process, uint32_t image) = 0;
};

class ReportRequests {
 public:
  // `writer` null: no reports are written. Else the traces of all processes are written on this machine.
  ReportRequests(RecordedProcesses& processes, ReportWriter* writer);

  // Starts reports requested by signals since the last call. Several requests for one process are merged, and requests
  // during a report are served after it.
  void serve();
  // For a process that is gone, before its recording ends: serves its last requests.
  void serve_last(RecordedProcess& process);
  // Starts a report requested by the program.
  void request(RecordedProcess& process, base::UniqueFd output, ReportAnswer answer);
  // Answers the program with the result of a leak scan that it requested.
  void request_counts(RecordedProcess& process, uint32_t scan, ReportAnswer answer);

 private:
  [[nodiscard]] bool is_wanted(RecordedProcess& process) const;
  void write(RecordedProcess& process, base::UniqueFd output = {}, ReportAnswer answer = {});
  static ReportRequest request_of(RecordedProcess& process, base::Result<> written);

  RecordedProcesses& processes_;
  ReportWriter* const writer_;
  int seen_ = 0;  // signals to heaptap
};

}  // namespace heaptap::supervision
