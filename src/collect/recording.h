// One process being recorded, as those see it that watch over it, steer it and serve who asks for it. Where its log is and who
// writes its trace differs: LocalRecording has both on this machine (local_recording.h); on two machines the target's side has the
// log, and the host's the trace (remote/).
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/intervals.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "collect/process_scan.h"
#include "log/log_memory.h"
#include "model/capture.h"
#include "model/mark.h"
#include "model/note.h"
#include "wire/exit_handshake.h"

namespace heaptap::collect {

// Of the times of events in traces.
inline constexpr uint64_t kTimeResolutionNs = 100'000;
// So that a collector that dies takes little with it.
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

  // Of a process on this machine. Null: it runs on another one.
  [[nodiscard]] virtual log::LogMemory* log() = 0;
  [[nodiscard]] virtual const model::Capture& capture() const = 0;
  // Of the trace; empty: it is written on another machine.
  [[nodiscard]] virtual const std::string& path() const = 0;

  // Takes what was recorded meanwhile. Returns how many bytes of records that was.
  virtual uint64_t poll() = 0;
  // Between these two the collector waits for news, and the log may fill.
  virtual void rest() = 0;
  virtual void wake_up() = 0;
  // Looks for leaks: stops the process, takes what was recorded up to then, reads its memory, and writes what that says
  // into the trace. With `ending` the process is at its end and waits; it goes on when its memory has been read. Gives the
  // number of the scan.
  virtual base::Result<uint32_t> scan(const ScanAccess& access, const std::optional<wire::ExitNotice>& ending) = 0;
  // What the last one found is where the trace is made, or on the way there: behind the events that came before it.
  [[nodiscard]] virtual bool has_told_scan() const { return true; }
  // Marks that were set while the process ran other programs, before this one: numbers go on behind them.
  virtual void begin_behind(const std::vector<model::Mark>& earlier) = 0;
  // Names this moment. The mark as the trace has it.
  virtual base::Result<model::Mark> mark(model::MarkKind kind, std::string name) = 0;
  // Before the program has its log: it begins switched off.
  virtual void begin_off() = 0;
  // Switches recording off and on again, with a mark of its own; nothing where it is so already. What is allocated meanwhile isn't seen.
  virtual base::Result<> set_on(bool on) = 0;
  [[nodiscard]] virtual bool is_on() const = 0;
  // Of stacks from now on; 0: all frames that are kept.
  virtual void set_depth(uint32_t frames) = 0;
  // Nothing is recorded any more, and the program never waits for the collector again.
  virtual void let_go() = 0;
  // Another host takes it over, and knows nothing of it: what it needs of what was is told again, and events from here on.
  virtual void begin_anew() {}
  // Writes all that was recorded up to now.
  virtual base::Result<> write_up_to_now() = 0;
  // Names this moment, and writes all that was recorded up to it and nothing behind it.
  virtual base::Result<> write_up_to_mark(model::MarkKind kind, std::string name) = 0;
  [[nodiscard]] virtual RecordingFigures figures() const = 0;
  // The trace, for reading; none: it is written on another machine.
  [[nodiscard]] virtual base::UniqueFd open_trace() const = 0;
  [[nodiscard]] virtual const std::vector<model::Mark>& marks() const = 0;

  // The process goes on as another program.
  virtual void note_exec() = 0;
  // It is detached.
  virtual void note_detached() = 0;
  // What couldn't be seen, for the trace.
  virtual void note(model::Note note) = 0;
  // Of a process that is gone: what it left can be taken now. (False for a while where it goes elsewhere, and there is no way.)
  [[nodiscard]] virtual bool can_finish() { return true; }
  // Takes the rest and ends the trace. Errors of writing show up here.
  virtual base::Result<> finish(const model::ExitStatus& exit) = 0;
};

}  // namespace heaptap::collect
