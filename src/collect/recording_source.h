// Where recordings come from: agents that ask for a log, or the tracer that stops what it watches.
#pragma once
#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collect/recorded_processes.h"
#include "collect/report_requests.h"
#include "wire/exit_handshake.h"

namespace heaptap::collect {

class RecordingSource {
 public:
  RecordingSource() = default;
  virtual ~RecordingSource() = default;
  RecordingSource(const RecordingSource&) = delete;
  RecordingSource& operator=(const RecordingSource&) = delete;

  virtual void add_waits(std::vector<pollfd>& waits) const = 0;
  // Begins recordings, and looks at processes that come to their end.
  virtual void take_news() = 0;
  // Nothing is under way that may still become a recording, or a word why it can't.
  [[nodiscard]] virtual bool is_settled() const { return true; }
  // Recordings may still begin, or are going on where nobody sees them yet.
  [[nodiscard]] virtual bool expects_more() const { return !is_settled(); }
  // A look at the memory now.
  virtual base::Result<uint32_t> scan(RecordedProcess& process) = 0;
  // Nothing more comes of this process.
  virtual bool has_left(const RecordedProcess& process) = 0;
  // Who writes reports that programs ask for by themselves.
  virtual void serve_programs(ReportRequests& /*reports*/) {}
  // Lets one go on unrecorded: soon it has left.
  virtual void let_go(RecordedProcess& process) = 0;
  // A signal that asks for the end, for a program that was started elsewhere: true where it gets it, and recording goes on.
  virtual bool hand_on(int /*signal*/) { return false; }
  // From now on no recording begins, and a tracer detaches from all that it traces.
  virtual void accept_no_more() = 0;
  // Behind that: the last of those that were let go of is under way, and takes its time.
  [[nodiscard]] virtual bool is_letting_go() { return false; }
};

}  // namespace heaptap::collect
