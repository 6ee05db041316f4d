// Writer of a trace file, frame by frame, so that what was written is readable at any moment.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/frames/byte_buffer.h"
#include "common/frames/table_frames.h"
#include "common/model/capture.h"
#include "common/model/code_name.h"
#include "common/model/event.h"
#include "common/model/heap_scan.h"
#include "common/model/mark.h"
#include "common/model/resident.h"
#include "common/model/tables.h"
#include "common/model/totals.h"
#include "common/wire/frame.h"
#include "record/trace/compression.h"
#include "record/trace/event_frame.h"
#include "record/trace/frame_pool.h"
#include "record/trace/trace_index.h"

namespace heaptap::trace {

class TraceWriter {
 public:
  // Fails where the file can't be created; an existing one is only replaced with `overwrite`.
  static base::Result<std::unique_ptr<TraceWriter>> create(const std::string& path, bool overwrite);
  // Into memory of its own; `path` is for messages.
  static base::Result<std::unique_ptr<TraceWriter>> create_in_memory(const std::string& path);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // While `behind`, frames of events that begin are made by the pool, if it has time for them. It must outlive this. The
  // file is the same.
  void share_frames(FramePool* pool) { pool_ = pool; }
  [[nodiscard]] FramePool* frame_pool() const { return pool_; }
  void set_behind(bool behind) { is_behind_ = behind; }

  // First; once.
  base::Result<> begin(const model::Capture& capture);
  // Adds a batch to the current frame.
  void add(const model::EventBatch& batch, const model::Tables& tables);
  // The same. Its content is undefined then.
  void take(model::EventBatch& batch, const model::Tables& tables);
  [[nodiscard]] size_t events_pending() const { return frame_ ? frame_events_ : event_writer_.event_count(); }
  // Writes new table entries, then the frame, and all that came before. After a failure the file ends with its last
  // complete frame and takes no more; each further call fails in the same way.
  base::Result<> flush(const model::Tables& tables);
  // As flush(), but what the pool is making is written when it is made: by one of the next calls. Until then it isn't
  // in the file, nor is what follows it.
  base::Result<> end_frame(const model::Tables& tables);
  // Writes the batch in a frame of its own.
  base::Result<> write(const model::EventBatch& batch, const model::Tables& tables) {
    add(batch, tables);
    return flush(tables);
  }
  // Writes a leak scan at the current position among the events: flushes added ones before. (So its own events_before
  // is ignored.)
  base::Result<> write_scan(const model::HeapScan& scan, const model::Tables& tables);
  // Writes the current totals. They replace totals that were written last.
  base::Result<> write_totals(const model::Totals& totals, const model::Tables& tables);
  // Adds a mark after the last added event. The writer sets its number and events_before; returns the mark as stored in
  // the trace.
  model::Mark add_mark(model::Mark mark);
  // Adds a name given to a block by the program.
  void add_block_name(model::BlockName name) { names_pending_.push_back(std::move(name)); }
  // Adds a sample of resident memory. Leaves out one that is earlier than the last one, and those beyond the
  // readers' limit.
  void add_resident(const model::ResidentSample& sample);
  // Call before the first mark, with those of earlier programs of this process. Numbering continues after them.
  void begin_behind(const std::vector<model::Mark>& earlier);
  // Writes the facts of the end, and the index.
  base::Result<> finish(const model::Capture& capture, const model::Tables& tables);

  [[nodiscard]] uint64_t events_written() const { return events_written_; }
  [[nodiscard]] uint64_t bytes_written() const { return offset_; }
  // Complete frames in the file, but for forgotten ones.
  [[nodiscard]] const std::vector<FramePlace>& frames() const { return index_; }
  // Leaves the first ones out of the index: nobody will read them.
  void forget_frames(size_t count) { index_.erase(index_.begin(), index_.begin() + static_cast<ptrdiff_t>(count)); }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Descriptor of its own, also if the file was renamed; none where that isn't possible.
  [[nodiscard]] base::UniqueFd open_for_reading() const;

  // Written after the tables with these codes. Drops names beyond the readers' limit.
  void add_code_names(std::vector<model::CodeName> names);

 private:
  // A frame behind one that is being made, or that one.
  struct Waiting {
    wire::FrameType type;
    wire::Codec codec;
    uint32_t raw_bytes;  // of a compressed one
    uint64_t first_event;
    uint64_t events;
    std::vector<uint8_t> stored;
    std::shared_ptr<FramePool::Frame> frame;  // null: `stored` is it
  };

  TraceWriter(std::string path, base::UniqueFd descriptor);
  base::Result<> write_tables(const model::Tables& tables);
  base::Result<> write_pending_marks();
  base::Result<> write_pending_names();
  base::Result<> write_pending_code_names();
  base::Result<> write_pending_resident();
  // Empties `pending`.
  template <typename Entry>
  base::Result<> write_in_frames(std::vector<Entry>& pending, size_t max_in_frame,
                                 void (*encode)(frames::ByteBuffer&, std::span<const Entry>), wire::FrameType type,
                                 bool compress);
  [[nodiscard]] bool ends_with_totals() const;
  base::Result<> write_frame(wire::FrameType type, const frames::ByteBuffer& payload, bool compress);
  base::Result<> write_events();
  // In the file, or behind those that wait.
  base::Result<> put(Waiting frame, std::span<const uint8_t> stored);
  base::Result<> append_made(bool all);
  base::Result<> append_frame(const Waiting& frame, std::span<const uint8_t> stored);
  void give_up_waiting();
  base::Result<> write_index();
  base::Result<> take_back_last_frame();
  base::Result<> append(const void* data, size_t bytes);

  std::string path_;
  base::UniqueFd descriptor_;
  uint64_t offset_ = 0;       // end of the last complete frame
  uint64_t event_count_ = 0;  // of ended frames
  uint64_t events_written_ = 0;
  uint64_t resolution_ns_ = 1;
  uint32_t frame_number_ = 0;
  frames::TableCounts written_;
  std::vector<model::Mark> marks_pending_;
  std::vector<model::BlockName> names_pending_;
  std::vector<model::CodeName> code_names_pending_;
  size_t code_name_bytes_ = 0;  // total
  std::vector<model::ResidentSample> resident_pending_;
  uint64_t last_resident_ns_ = 0;
  size_t resident_count_ = 0;
  uint32_t mark_count_ = 0;
  std::vector<FramePlace> index_;
  std::vector<uint8_t> bytes_;  // of the frame being appended
  frames::ByteBuffer payload_;
  Compressor compressor_;
  EventFrameWriter event_writer_;
  FramePool* pool_ = nullptr;
  bool is_behind_ = false;
  SharedSites sites_;
  std::shared_ptr<FramePool::Frame> frame_;  // the current one, if the pool makes it; else event_writer_ does
  size_t frame_events_ = 0;                  // of it
  std::deque<Waiting> waiting_;
  std::optional<base::Error> failure_;  // first failed write
};

}  // namespace heaptap::trace
