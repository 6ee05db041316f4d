// Trace maker: writes a trace from an event stream, the host's half of a recording.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "capture/stream/event_stream.h"
#include "common/base/result.h"
#include "common/model/capture.h"
#include "common/model/crash.h"
#include "common/model/event_source.h"
#include "common/model/heap_scan.h"
#include "common/model/mark.h"
#include "common/model/resident.h"
#include "common/model/tables.h"
#include "common/model/totals.h"
#include "record/ingest/event_coder.h"
#include "record/trace/trace_writer.h"

namespace heaptap::ingest {

class TraceBuilder {
 public:
  // Both must outlive it. The caller begins and ends the writer.
  TraceBuilder(stream::EventStream& stream, trace::TraceWriter& writer, uint64_t time_resolution_ns, bool from_start);

  // Also passes each batch, as in the trace, to `follower`, which must outlive this.
  void follow(model::EventSink& follower) { follower_ = &follower; }

  // Calls tell(name) for each name that the program gives to a block, in place of writing it.
  void tell_block_names(std::function<void(model::BlockName)> tell) { tell_block_name_ = std::move(tell); }

  // Call where the stream's tables can be read while another thread drains it, as those of a log: then that is done, if
  // the writer has other threads.
  void drain_beside_coding() { drains_beside_coding_ = true; }

  // Takes new events, a bounded part. Returns their number of record bytes.
  uint64_t take_next();
  // Takes all events of a process that is gone or stopped.
  void take_all();
  // Updates the tables.
  void take_tables();

  // Writes a frame of the events not yet written, and those that other threads still make.
  void write_frame();
  void write_totals(const model::Totals& totals);
  // Numbers the scan, and returns its number. One where exit began is kept, without a number (0), and written before that of the end,
  // if it says more than that.
  uint32_t write_scan(model::HeapScan scan);
  [[nodiscard]] uint32_t scan_count() const { return scan_count_; }

  // At the current position.
  model::Mark add_mark(model::Mark mark);
  void add_resident(const model::ResidentSample& sample) { writer_.add_resident(sample); }
  // Call before the first one, with those of earlier programs of this process.
  void begin_behind(std::vector<model::Mark> earlier);
  // All marks of the trace, including the program's own.
  [[nodiscard]] const std::vector<model::Mark>& marks() const { return marks_; }
  // From now on calls may be missing: model::CaptureGap.
  void note_gap(uint32_t gap) { noted_gaps_ |= gap; }

  // First failure of the writer. From then on nothing is written.
  [[nodiscard]] const base::Result<>& written() const { return written_; }
  [[nodiscard]] const model::Tables& tables() const { return tables_; }
  [[nodiscard]] EventCoder& coder() { return coder_; }
  [[nodiscard]] const EventCoder& coder() const { return coder_; }
  // Events received that aren't in the trace yet.
  [[nodiscard]] std::span<const wire::RawEvent> waiting() const { return raw_; }
  [[nodiscard]] uint64_t event_count() const { return event_count_; }
  void note_missed_releases(model::Capture& capture) const;
  // Stack of the thread that crashed, in the modules that are loaded now.
  void add_crash(const model::Crash& crash);
  // Writes it to the facts of the end, where the program did end by that signal.
  void tell_crash(model::Capture& capture) const;
  // Known reasons for missing calls: model::CaptureGap.
  [[nodiscard]] uint32_t gaps() const;
  // Whether all releases of known blocks are seen.
  [[nodiscard]] bool sees_all_releases() const;
  // And there have been no other blocks since the recording began.
  [[nodiscard]] bool sees_all() const { return sees_all_releases() && gaps() == 0; }

 private:
  // The stream is another thread's, until the end of what was begun with it.
  class Lent {
   public:
    Lent(TraceBuilder& builder, trace::FramePool& pool, std::function<void()> drain);
    ~Lent();
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

   private:
    TraceBuilder& builder_;
    trace::FramePool& pool_;
  };

  void code_events(bool last);
  stream::StreamState look_at_stream();
  void code(const stream::StreamState& state, bool last);
  [[nodiscard]] bool is_behind() const;
  [[nodiscard]] bool is_worth_sharing(size_t drained) const;
  uint64_t code_and_drain(uint64_t max_bytes);
  [[nodiscard]] static bool is_overdue(const wire::RawEvent& event, const stream::StreamState& state);
  void add_batch();
  void end_frame();
  void take_program_note(const ProgramNote& program_note);
  void add_block_name(model::BlockName name);

  stream::EventStream& stream_;
  trace::TraceWriter& writer_;
  model::Tables tables_;
  EventCoder coder_;
  log::RawEvents raw_;
  log::RawEvents ahead_;  // of a drain beside coding
  bool drains_beside_coding_ = false;
  bool is_stream_lent_ = false;
  model::EventBatch batch_;
  model::EventSink* follower_ = nullptr;
  std::function<void(model::BlockName)> tell_block_name_;
  uint64_t event_count_ = 0;
  uint64_t events_behind_ = 0;  // since a drain last left nothing in the log
  uint32_t noted_gaps_ = 0;
  std::vector<model::Mark> marks_;
  uint32_t scan_count_ = 0;
  std::optional<model::HeapScan> exit_start_;  // the scan where exit began
  std::optional<model::CrashStack> crash_;
  int crash_signal_ = 0;
  base::Result<> written_;
};

// Marks to be inherited by the next program of the process: limited to those that may still be referred to, since each
// program of a process that executes many has a copy.
std::vector<model::Mark> as_earlier(const std::vector<model::Mark>& marks);

}  // namespace heaptap::ingest
