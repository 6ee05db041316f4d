// Log side of a recording, beside the program: its log, the ordered events from it, samples of the program's resident
// memory, and its facts of the program's end.
// The other side makes a trace of that, here or on another machine.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/process/resident_sampler.h"
#include "capture/stream/log_room.h"
#include "capture/stream/mapped_stream.h"
#include "capture/stream/totals_collector.h"
#include "common/base/result.h"
#include "common/model/capture.h"
#include "common/model/resident.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::stream {

// Evidence seen of the program, for the facts of its end.
struct Seen {
  bool calls = false;  // some, or totals of them
  uint32_t scans = 0;
  std::optional<wire::ExitNotice> end = {};  // the process waited at its end for a scan
};

class LogEndpoint {
 public:
  // Creates the log. Uses the process and `via` of the capture.
  static base::Result<std::unique_ptr<LogEndpoint>> create(const log::LogOptions& options,
                                                           const model::Capture& capture);

  [[nodiscard]] log::LogMemory& log() { return *log_; }
  [[nodiscard]] MappedStream& stream() { return stream_; }
  [[nodiscard]] const MappedStream& stream() const { return stream_; }
  [[nodiscard]] TotalsCollector& totals() { return totals_; }
  [[nodiscard]] uint64_t elapsed_ns() const;

  void turn_to(wire::RecordingSwitch position);
  [[nodiscard]] bool is_on() const;
  // Complete as far as the log can tell.
  [[nodiscard]] uint64_t lost_events() const { return stream_.reader().lost_events(); }
  [[nodiscard]] uint64_t used_bytes() const;
  [[nodiscard]] uint64_t limit_bytes() const;
  [[nodiscard]] bool wants_scan_at_end() const { return (log_->parts().flags & wire::kScanAtEnd) != 0; }

  // How long a tracer has paused threads of the program in all; none: unknown, or recorded by the agent.
  void set_paused_by_tracer(uint64_t total_ns) { paused_by_tracer_ns_ = total_ns; }
  [[nodiscard]] std::optional<uint64_t> paused_by_tracer_ns() const { return paused_by_tracer_ns_; }

  // Sample of the process's resident memory. None: unknown; the second one also if it isn't time for one.
  std::optional<model::ResidentSample> sample_resident();
  std::optional<model::ResidentSample> sample_resident_when_due();

  // Sets the facts of the end: exit status, times, sizes, losses. Also notes on why nothing or not all was seen of the
  // program, and on what found no room in the log.
  void fill_end(model::Capture& capture, const model::ExitStatus& exit, const Seen& seen) const;
  void note_unseen(model::Capture& capture, const Seen& seen) const;
  void note_no_room(model::Capture& capture) const;

 private:
  LogEndpoint(std::unique_ptr<log::LogMemory> log, const model::Capture& capture);
  [[nodiscard]] model::Note cause_of_losses(const model::Capture& capture) const;
  void note_what_no_agent_saw(model::Capture& capture, const Seen& seen) const;

  std::unique_ptr<log::LogMemory> log_;
  const bool is_mapped_there_;  // by the agent
  process::ResidentSampler sampler_;
  SharedLogRoom room_;
  TotalsCollector totals_;
  MappedStream stream_;
  uint64_t start_monotonic_ns_;
  std::optional<uint64_t> paused_by_tracer_ns_;
};

// Adds a note unless it is there already.
void add_note(model::Capture& capture, model::Note note);

}  // namespace heaptap::stream
