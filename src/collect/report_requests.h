// Reports of what changed that are asked for while a recording goes on: by a signal to heaptap, by a signal to a recorded process,
// by the program itself. Whoever asks, this room marks the moment in the trace and writes the trace up to it; the report is
// written by who reads traces, elsewhere, and the recording never waits for it.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collect/recorded_processes.h"

namespace heaptap::collect {

// What came of a request that somebody waits for.
struct ReportOutcome {
  bool is_done = false;
  // Of a scan that was asked about, in blocks and bytes each: definite, indirect, possible, reachable, unknown.
  std::array<uint64_t, 10> counts{};
};
using ReportAnswer = std::function<void(const ReportOutcome& outcome)>;

// One report of one program of a process, with all that is needed to write it.
struct ReportRequest {
  pid_t process = 0;
  uint32_t image = 1;        // see RecordedProcess
  std::string trace_path;    // as it was named
  base::UniqueFd trace;      // for reading; none: it is no file
  uint64_t trace_bytes = 0;  // up to the moment that the report is about
  base::Result<> written;    // the trace, up to there
  // Where it goes to. None: into a file of its own, the next one in number.
  base::UniqueFd output = {};
  // Where nothing is to be written, and the answer says what this leak scan found; 0: a report is.
  uint32_t scan = 0;
  // Called once, in another thread, where somebody waits for it.
  ReportAnswer answer = {};
};

class ReportWriter {
 public:
  ReportWriter() = default;
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;
  virtual ~ReportWriter() = default;

  // Whether a report of this process is being written, or waits for that.
  virtual bool is_busy(pid_t process) = 0;
  // Takes one, and returns at once.
  virtual void write(ReportRequest request) = 0;
  // No more of this program are asked for.
  virtual void end(pid_t process, uint32_t image) = 0;
};

class ReportRequests {
 public:
  // `writer` null: nobody writes reports.
  ReportRequests(RecordedProcesses& processes, ReportWriter* writer);

  // Has those written that signals asked for since the last call. Several of one process are one, and what is asked for while one
  // is written comes when that is done.
  void serve();
  // Of a process that is gone, before its recording ends: what it asked for until then.
  void serve_last(RecordedProcess& process);
  // A report that the program asks for.
  void request(RecordedProcess& process, base::UniqueFd output, ReportAnswer answer);
  // What a leak scan found that the program asked for.
  void request_counts(RecordedProcess& process, uint32_t scan, ReportAnswer answer);

 private:
  [[nodiscard]] bool is_wanted(RecordedProcess& process) const;
  void write(RecordedProcess& process, base::UniqueFd output = {}, ReportAnswer answer = {});
  static ReportRequest request_of(RecordedProcess& process, base::Result<> written);

  RecordedProcesses& processes_;
  ReportWriter* const writer_;
  int seen_ = 0;  // signals to heaptap
};

}  // namespace heaptap::collect
