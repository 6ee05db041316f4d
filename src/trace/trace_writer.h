// Writes a trace file, frame by frame, so that what was written is readable at any moment.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/capture.h"
#include "model/code_name.h"
#include "model/event.h"
#include "model/heap_scan.h"
#include "model/mark.h"
#include "model/tables.h"
#include "model/totals.h"
#include "trace/byte_buffer.h"
#include "trace/compression.h"
#include "trace/event_frame.h"
#include "trace/table_frames.h"
#include "wire/frame.h"

namespace heaptap::trace {

class TraceWriter {
 public:
  // Fails where the file can't be made; an existing one only gives way with `overwrite`.
  static base::Result<std::unique_ptr<TraceWriter>> create(const std::string& path, bool overwrite);

  // First; once.
  base::Result<> begin(const model::Capture& capture);
  // Adds a batch to the frame that is being made.
  void add(const model::EventBatch& batch, const model::Tables& tables);
  [[nodiscard]] size_t events_pending() const { return event_writer_.event_count(); }
  // New entries of the tables, then the frame. After a failure the file ends behind its last whole frame and takes no
  // more; each further call fails in the same way.
  base::Result<> flush(const model::Tables& tables);
  // The batch in a frame of its own.
  base::Result<> write(const model::EventBatch& batch, const model::Tables& tables) {
    add(batch, tables);
    return flush(tables);
  }
  // A leak scan, at the place among the events that has been reached: what was added is flushed before. (So its own
  // events_before is not asked.)
  base::Result<> write_scan(const model::HeapScan& scan, const model::Tables& tables);
  // The totals as they are now. Totals that were the last thing written give way to them.
  base::Result<> write_totals(const model::Totals& totals, const model::Tables& tables);
  // Names the place among the events that was added to last. What is counted here (number, events_before) is given by the writer;
  // the mark as it stands in the trace is returned.
  model::Mark add_mark(model::Mark mark);
  // The program gave a block a name.
  void add_block_name(model::BlockName name) { names_pending_.push_back(std::move(name)); }
  // Before the first mark: those of the programs that the process ran before this one. Numbers go on behind them.
  void begin_behind(const std::vector<model::Mark>& earlier);
  // The facts of the end, and the index.
  base::Result<> finish(const model::Capture& capture, const model::Tables& tables);

  [[nodiscard]] uint64_t events_written() const { return event_count_; }
  [[nodiscard]] uint64_t bytes_written() const { return offset_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Of its own, also where the file was renamed meanwhile; none where that isn't possible.
  [[nodiscard]] base::UniqueFd open_for_reading() const;

  // Written behind the tables that have these codes. What is more than readers take is left out.
  void add_code_names(std::vector<model::CodeName> names);

 private:
  struct IndexEntry {
    wire::FrameType type;
    uint64_t offset;
    uint64_t first_event;
  };

  TraceWriter(std::string path, base::UniqueFd descriptor);
  base::Result<> write_tables(const model::Tables& tables);
  base::Result<> write_pending_marks();
  base::Result<> write_pending_names();
  base::Result<> write_pending_code_names();
  base::Result<> write_frame(wire::FrameType type, const ByteBuffer& payload, bool compress);
  base::Result<> write_index();
  base::Result<> take_back_last_frame();
  base::Result<> append(const void* data, size_t bytes);

  std::string path_;
  base::UniqueFd descriptor_;
  uint64_t offset_ = 0;  // end of the last whole frame
  uint64_t event_count_ = 0;
  uint64_t resolution_ns_ = 1;
  uint32_t frame_number_ = 0;
  TableCounts written_;
  std::vector<model::Mark> marks_pending_;
  std::vector<model::BlockName> names_pending_;
  std::vector<model::CodeName> code_names_pending_;
  size_t code_name_bytes_ = 0;  // of all
  uint32_t mark_count_ = 0;
  std::vector<IndexEntry> index_;
  std::vector<uint8_t> frame_;
  ByteBuffer payload_;
  Compressor compressor_;
  EventFrameWriter event_writer_;
  std::optional<base::Error> failure_;  // of the first write that failed
};

}  // namespace heaptap::trace
