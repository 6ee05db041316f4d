// Recording of one process, as an interface for supervision, control and clients. Implementations differ in the
// location of log and trace: LocalRecording has both on this machine (local_recording.h); on two machines the target's
// side has the log, and the host's the trace (remote/).
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/supervision/process_scan.h"
#include "common/base/intervals.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/model/capture.h"
#include "common/model/mark.h"
#include "common/model/note.h"
#include "common/wire/exit_handshake.h"

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
};

class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;

  // Null: the process runs on another machine.
  [[nodiscard]] virtual log::LogMemory* log() = 0;
  [[nodiscard]] virtual const model::Capture& capture() const = 0;
  // Of the trace; empty: it is written on another machine.
  [[nodiscard]] virtual const std::string& path() const = 0;

  // Takes new events. Returns their number of record bytes.
  virtual uint64_t poll() = 0;
  // Between these two the collector is idle, and the log may fill.
  virtual void rest() = 0;
  virtual void wake_up() = 0;
  // Leak scan: stops the process, takes its events so far, reads its memory, and writes the result to the trace. With
  // `ending` the process waits at its end, and continues when its memory has been read. Returns the number of the scan.
  virtual base::Result<uint32_t> scan(const ScanAccess& access, const std::optional<wire::ExitNotice>& ending) = 0;
  // Marks set during earlier programs of this process: numbering continues after them.
  virtual void begin_behind(const std::vector<model::Mark>& earlier) = 0;
  // Marks this moment. Returns the mark as stored in the trace.
  virtual base::Result<model::Mark> mark(model::MarkKind kind, std::string name) = 0;
  // Call before the program has its log: it begins switched off.
  virtual void begin_off() = 0;
  // Switches recording off or on, with a mark; no effect if it is so already. Allocations while it is off aren't seen.
  virtual base::Result<> set_on(bool on) = 0;
  [[nodiscard]] virtual bool is_on() const = 0;
  // Maximum frames per stack from now on; 0: all frames kept.
  virtual void set_depth(uint32_t frames) = 0;
  // Stops recording; the program never waits for the collector again.
  virtual void let_go() = 0;
  // Writes all events recorded up to now.
  virtual base::Result<> write_up_to_now() = 0;
  // Marks this moment, and writes the events up to it, but none after it.
  virtual base::Result<> write_up_to_mark(model::MarkKind kind, std::string name) = 0;
  [[nodiscard]] virtual RecordingFigures figures() const = 0;
  // The trace, for reading; none: it is written on another machine.
  [[nodiscard]] virtual base::UniqueFd open_trace() const = 0;
  [[nodiscard]] virtual const std::vector<model::Mark>& marks() const = 0;

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
