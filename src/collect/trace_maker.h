// Makes a trace of what a stream brings: the host's half of a recording.
#pragma once
#include <cstdint>
#include <span>

#include "base/result.h"
#include "collect/event_coder.h"
#include "collect/event_stream.h"
#include "model/capture.h"
#include "model/event_source.h"
#include "model/heap_scan.h"
#include "model/mark.h"
#include "model/tables.h"
#include "model/totals.h"
#include "trace/trace_writer.h"

namespace heaptap::collect {

class TraceMaker {
 public:
  // Both outlive it. The writer has begun; its end is the caller's as well.
  TraceMaker(EventStream& stream, trace::TraceWriter& writer, uint64_t time_resolution_ns, bool from_start);

  // Gets each batch besides, as the trace gets it; outlives this.
  void follow(model::EventSink& follower) { follower_ = &follower; }

  // Takes what came meanwhile, a bounded part of it. Returns how many bytes of records that was.
  uint64_t take_next();
  // All of a process that is gone, or is stopped.
  void take_all();
  // The tables as they are now.
  void take_tables();

  // What was taken, as far as no frame has it yet.
  void write_frame();
  void write_totals(const model::Totals& totals);
  void write_scan(const model::HeapScan& scan);

  // At the place that was reached.
  model::Mark add_mark(model::Mark mark);
  // Before the first one: those of the programs that the process ran before this one.
  void begin_behind(std::vector<model::Mark> earlier);
  // All of the trace, those that the program set with them.
  [[nodiscard]] const std::vector<model::Mark>& marks() const { return marks_; }
  // From here on calls may be missing: model::CaptureGap.
  void note_gap(uint32_t gap) { noted_gaps_ |= gap; }

  // Of the writer: its first failure. From then on nothing is written.
  [[nodiscard]] const base::Result<>& written() const { return written_; }
  [[nodiscard]] const model::Tables& tables() const { return tables_; }
  [[nodiscard]] EventCoder& coder() { return coder_; }
  [[nodiscard]] const EventCoder& coder() const { return coder_; }
  // Events that came, and aren't in the trace yet.
  [[nodiscard]] std::span<const wire::RawEvent> waiting() const { return raw_; }
  [[nodiscard]] uint64_t event_count() const { return event_count_; }
  void note_missed_releases(model::Capture& capture) const;
  // Why calls may be missing, for all that is known by now: model::CaptureGap.
  [[nodiscard]] uint32_t gaps() const;
  // Of all blocks that are known.
  [[nodiscard]] bool sees_all_releases() const;
  // And there are no others, since the recording began.
  [[nodiscard]] bool sees_all() const { return sees_all_releases() && gaps() == 0; }

 private:
  void code_events(bool last);
  [[nodiscard]] static bool is_overdue(const wire::RawEvent& event, const StreamState& state);
  void add_batch();
  void take_said(const Said& said);

  EventStream& stream_;
  trace::TraceWriter& writer_;
  model::Tables tables_;
  EventCoder coder_;
  log::RawEvents raw_;
  model::EventBatch batch_;
  model::EventSink* follower_ = nullptr;
  uint64_t event_count_ = 0;
  uint32_t noted_gaps_ = 0;
  std::vector<model::Mark> marks_;
  base::Result<> written_;
};

// Marks as the trace of the next program of the process has them: as many as somebody may still ask for, since each program of a
// process that executes many has a copy.
std::vector<model::Mark> as_earlier(const std::vector<model::Mark>& marks);

}  // namespace heaptap::collect
