// Recording of one process, as an interface for supervision, control and clients: the part that doesn't depend on where
// its log and its trace are. Operations on the log are in LogHalf (log_half.h), those on the trace in TraceHalf
// (trace_half.h). LocalRecording has both halves; on two machines the target's side has the first, and the host's the
// second.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/intervals.h"
#include "common/base/result.h"
#include "common/model/capture.h"
#include "common/model/mark.h"
#include "common/model/note.h"

namespace heaptap::supervision {

// Resolution of event times in traces.
inline constexpr uint64_t kTimeResolutionNs = 100'000;
// Maximum time until events are written, so that a collector that dies loses little.
inline uint64_t longest_unwritten_ns() {
  return static_cast<uint64_t>(std::chrono::nanoseconds(base::intervals().write).count());
}

struct RecordingFigures {
  uint64_t time_ns = 0;  // since the start of the capture
  uint64_t events = 0;
  uint64_t lost_events = 0;
  uint64_t log_used_bytes = 0;
  uint64_t log_limit_bytes = 0;
  uint64_t trace_bytes = 0;
  uint32_t marks = 0;
  uint32_t scans = 0;
  std::optional<uint64_t> paused_by_tracer_ns = {};  // none: unknown, or recorded by the agent
};

class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;

  [[nodiscard]] virtual const model::Capture& capture() const = 0;

  // Takes new events. Returns their number of record bytes.
  virtual uint64_t poll() = 0;
  // Marks this moment. Returns the mark as stored in the trace.
  virtual base::Result<model::Mark> mark(model::MarkKind kind, std::string name) = 0;
  // Call before the program has its log: it begins switched off.
  virtual void begin_off() = 0;
  // Switches recording off or on, with a mark; no effect if it is so already. Allocations while it is off aren't seen.
  virtual base::Result<> set_on(bool on) = 0;
  [[nodiscard]] virtual bool is_on() const = 0;
  // Writes all events recorded up to now.
  virtual base::Result<> write_up_to_now() = 0;
  [[nodiscard]] virtual RecordingFigures figures() const = 0;

  // The process executes another program.
  virtual void note_exec() = 0;
  // It is detached.
  virtual void note_detached() = 0;
  // Adds a note on missing data to the trace.
  virtual void note(model::Note note) = 0;
  // For a process that is gone: whether its remaining data can be taken now. (False while it must be sent elsewhere and
  // there is no connection.)
  [[nodiscard]] virtual bool can_finish() { return true; }
  // Takes the remaining data and ends the trace. Reports write errors.
  virtual base::Result<> finish(const model::ExitStatus& exit) = 0;
};

}  // namespace heaptap::supervision
