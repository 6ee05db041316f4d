// Source of recordings: agents that request a log, or the tracer.
#pragma once
#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/supervision/recorded_processes.h"
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
  [[nodiscard]] virtual bool is_settled() const = 0;
  // Whether recordings may still begin, or are running unseen.
  [[nodiscard]] virtual bool expects_more() = 0;
  // Leak scan now.
  virtual base::Result<uint32_t> scan(RecordedProcess& process) = 0;
  // Whether no more data of this process can come.
  virtual bool has_left(const RecordedProcess& process) = 0;
  // Detaches from a process, which then leaves soon.
  virtual void detach(RecordedProcess& process) = 0;
  // From now on no recording begins, and a tracer detaches from all processes.
  virtual void accept_no_more() = 0;
};

// Recorder on another machine, with the program that it started there.
class RecorderElsewhere {
 public:
  // Signal that would end the recording: true if the program gets it, and recording continues.
  virtual bool hand_on(int signal) = 0;
  // Once no more recordings are accepted: whether the last detaching is still in progress.
  [[nodiscard]] virtual bool is_detaching() = 0;

 protected:
  RecorderElsewhere() = default;
  RecorderElsewhere(const RecorderElsewhere&) = default;
  RecorderElsewhere(RecorderElsewhere&&) = default;
  RecorderElsewhere& operator=(const RecorderElsewhere&) = delete;
  RecorderElsewhere& operator=(RecorderElsewhere&&) = delete;
  ~RecorderElsewhere() = default;
};

}  // namespace heaptap::supervision
