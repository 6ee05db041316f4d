// Source of recordings: agents that request a log, or the tracer.
#pragma once
#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/report_requests.h"
#include "common/base/result.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::supervision {

class RecordingSource {
 public:
  RecordingSource() = default;
  virtual ~RecordingSource() = default;
  RecordingSource(const RecordingSource&) = delete;
  RecordingSource& operator=(const RecordingSource&) = delete;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // Begins recordings, and scans processes at their end.
  virtual void take_news() = 0;
  // Whether no start of a recording, and no message about a failed one, is pending.
  [[nodiscard]] virtual bool is_settled() const { return true; }
  // Whether recordings may still begin, or are running unseen.
  [[nodiscard]] virtual bool expects_more() { return !is_settled(); }
  // Leak scan now.
  virtual base::Result<uint32_t> scan(RecordedProcess& process) = 0;
  // Whether no more data of this process can come.
  virtual bool has_left(const RecordedProcess& process) = 0;
  // Sets the writer of reports requested by programs themselves.
  virtual void serve_programs(ReportRequests& /*reports*/) {}
  // Detaches from a process, which then leaves soon.
  virtual void detach(RecordedProcess& process) = 0;
  // Signal that would end the recording, for a program that was started elsewhere: true if that program gets it, and recording continues.
  virtual bool hand_on(int /*signal*/) { return false; }
  // From now on no recording begins, and a tracer detaches from all processes.
  virtual void accept_no_more() {}
  // After that: whether the last detaching is still in progress.
  [[nodiscard]] virtual bool is_detaching() { return false; }
};

}  // namespace heaptap::supervision
