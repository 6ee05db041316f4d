// A recording's half beside the program: its log, the events that come out of it in order, and what it tells of the program's end.
// The other half makes a trace of that, here or on another machine.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collect/log_room.h"
#include "collect/mapped_stream.h"
#include "collect/totals_collector.h"
#include "log/log_memory.h"
#include "model/capture.h"
#include "wire/exit_handshake.h"

namespace heaptap::collect {

// What a recording has seen of its program, for what is said of its end.
struct Seen {
  bool calls = false;  // some, or totals of them
  uint32_t scans = 0;
  std::optional<wire::ExitNotice> end = {};  // the process waited at its end for a scan
};

class LogSide {
 public:
  // Makes the log. Of the capture the process and `via` are asked.
  static base::Result<std::unique_ptr<LogSide>> create(const log::LogOptions& options, const model::Capture& capture);

  [[nodiscard]] log::LogMemory& log() { return *log_; }
  [[nodiscard]] MappedStream& stream() { return stream_; }
  [[nodiscard]] const MappedStream& stream() const { return stream_; }
  [[nodiscard]] TotalsCollector& totals() { return totals_; }
  [[nodiscard]] uint64_t elapsed_ns() const;

  void turn_to(wire::RecordingSwitch position);
  [[nodiscard]] bool is_on() const;
  // All of its events are there, as far as the log can tell.
  [[nodiscard]] uint64_t lost_events() const { return stream_.reader().lost_events(); }
  [[nodiscard]] uint64_t used_bytes() const;
  [[nodiscard]] uint64_t limit_bytes() const;
  [[nodiscard]] bool wants_scan_at_end() const { return (log_->parts().flags & wire::kScanAtEnd) != 0; }

  // What the log tells of the end: the exit status, times, sizes, what was lost. Notes apart: those that say why nothing or not
  // all was seen of the program, and those of what found no room in the log.
  void fill_end(model::Capture& capture, const model::ExitStatus& exit, const Seen& seen) const;
  void note_unseen(model::Capture& capture, const Seen& seen) const;
  void note_no_room(model::Capture& capture) const;

 private:
  LogSide(std::unique_ptr<log::LogMemory> log, const model::Capture& capture);
  [[nodiscard]] model::Note cause_of_losses(const model::Capture& capture) const;
  void note_what_no_agent_saw(model::Capture& capture, const Seen& seen) const;

  std::unique_ptr<log::LogMemory> log_;
  SharedLogRoom room_;
  TotalsCollector totals_;
  MappedStream stream_;
  uint64_t start_monotonic_ns_;
};

// Once.
void add_note(model::Capture& capture, model::Note note);

}  // namespace heaptap::collect
