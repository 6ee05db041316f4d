// The last events of a recording, in memory until they are asked for, and what of the earlier ones is still of use. So a program
// can be recorded for weeks: what is kept is what came last, with all that is live.
//
//   TraceWriter ──▸ frames in memory ──▸ oldest one, decoded ──▸ EarlierPart
//                        └──────────────── KeptTrace ◂───────────────┘ ──▸ a trace's file
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/capture.h"
#include "common/model/code_name.h"
#include "common/model/heap_scan.h"
#include "common/model/mark.h"
#include "common/model/resident.h"
#include "common/model/tables.h"
#include "record/ring/earlier_part.h"
#include "record/trace/event_frame.h"
#include "record/trace/frame_reader.h"
#include "record/trace/trace_writer.h"

namespace heaptap::ring {

class Ring {
 public:
  // `frames` makes the recording's frames, in memory (TraceWriter::create_in_memory), and has begun; it must outlive this.
  Ring(trace::TraceWriter& frames, uint64_t max_bytes, uint64_t resolution_ns);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Gives up the oldest frames while they take more than the maximum. Call when frames were written, and nothing is being written.
  void trim(const model::Tables& tables);

  void add(model::BlockName name);
  void add(std::vector<model::CodeName> names);
  void add(const model::ResidentSample& sample);
  // Of scans the last two are kept: that where exit began, and that of the end.
  void add(model::HeapScan scan);

  // Facts of the recording as it is.
  struct Facts {
    model::Capture capture;  // with those of the end
    std::vector<model::Mark> marks;
  };
  // Begins to write all that is kept into a new trace. All frames must have been written before. The tables may grow then, and must
  // outlive it.
  base::Result<> begin(Facts facts, const model::Tables& tables, std::unique_ptr<trace::TraceWriter> to);
  [[nodiscard]] bool is_writing() const { return writing_ != nullptr; }
  // Writes one more frame; some ten milliseconds. None: there is more.
  std::optional<base::Result<>> proceed();
  // Writes the rest.
  base::Result<> complete();
  // From when on everything is kept.
  [[nodiscard]] uint64_t since_ns() const { return earlier_.until_ns(); }

 private:
  struct Writing;

  void give_up(const trace::FramePlace& frame, const model::Tables& tables);
  base::Result<> end(Writing& writing);
  template <typename Take>
  bool read(const trace::FramePlace& frame, const model::Tables& tables, Take take);

  trace::TraceWriter& frames_;
  const uint64_t max_bytes_;
  const uint64_t resolution_ns_;
  EarlierPart earlier_;
  trace::EventFrameReader reader_;
  model::EventBatch batch_;
  uint64_t freed_until_ = 0;
  bool is_damaged_ = false;
  std::deque<model::BlockName> block_names_;
  std::vector<model::CodeName> code_names_;
  std::deque<model::ResidentSample> resident_;
  std::deque<model::HeapScan> scans_;
  std::unique_ptr<Writing> writing_;  // null: nothing is being written
};

}  // namespace heaptap::ring
