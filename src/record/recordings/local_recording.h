// Recording with both halves on this machine: the log, and the trace written from it.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/scan/memory_copy.h"
#include "capture/stream/log_endpoint.h"
#include "capture/supervision/exit_start.h"
#include "capture/supervision/jit_names.h"
#include "capture/supervision/log_half.h"
#include "capture/supervision/recording.h"
#include "capture/supervision/trace_half.h"
#include "common/base/clock.h"
#include "record/ingest/trace_builder.h"
#include "record/recordings/file_keeper.h"
#include "record/recordings/own_rows.h"
#include "record/recordings/ring_options.h"
#include "record/recordings/write_watches.h"
#include "record/ring/ring.h"
#include "record/trace/frame_pool.h"
#include "record/trace/trace_writer.h"

namespace heaptap::recordings {

// Shared parts of recordings; each must outlive them.
struct SharedMeans {
  FileKeeper* keeper = nullptr;        // null: no file is kept
  trace::FramePool* frames = nullptr;  // null: the calling thread makes all frames
  WriteWatches* watches = nullptr;     // null: none
  const RingOptions* ring = nullptr;   // null: events go to the trace's file
};

class LocalRecording : public supervision::Recording,
                       public supervision::LogHalf,
                       public supervision::TraceHalf,
                       private supervision::BlackBox {
 public:
  // Creates the log and the trace file.
  static base::Result<std::unique_ptr<LocalRecording>> create(const log::LogOptions& options, model::Capture capture,
                                                              const std::string& path, bool overwrite) {
    return create_with({}, options, std::move(capture), path, overwrite);
  }
  static base::Result<std::unique_ptr<LocalRecording>> create_with(const SharedMeans& shared,
                                                                   const log::LogOptions& options,
                                                                   model::Capture capture, const std::string& path,
                                                                   bool overwrite);

  [[nodiscard]] log::LogMemory& log() override { return log_->log(); }
  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const std::string& path() const override { return path_; }

  uint64_t poll() override;
  void rest() override { log_->stream().reader().rest(); }
  void wake_up() override { log_->stream().reader().wake_up(); }
  base::Result<uint32_t> scan(const supervision::ScanAccess& access,
                              const std::optional<wire::ExitNotice>& ending) override;
  void begin_behind(const std::vector<model::Mark>& earlier) override;
  base::Result<model::Mark> mark(model::MarkKind kind, std::string name) override;
  void begin_off() override;
  base::Result<> set_on(bool on) override;
  [[nodiscard]] bool is_on() const override { return log_->is_on(); }
  void set_depth(uint32_t frames) override;
  void set_paused_by_tracer(uint64_t total_ns) override { log_->set_paused_by_tracer(total_ns); }
  void detach() override;
  base::Result<> write_up_to_now() override;
  base::Result<> write_up_to_mark(model::MarkKind kind, std::string name) override;
  [[nodiscard]] supervision::RecordingFigures figures() const override;
  [[nodiscard]] base::UniqueFd open_trace() const override { return writer_->open_for_reading(); }
  [[nodiscard]] const std::vector<model::Mark>& marks() const override { return maker_.marks(); }
  [[nodiscard]] supervision::BlackBox* black_box() override { return ring_ ? this : nullptr; }
  void note_exec() override { capture_.executed = true; }
  void note_detached() override { capture_.detached = true; }
  void note(model::Note note) override { stream::add_note(capture_, std::move(note)); }
  base::Result<> finish(const model::ExitStatus& exit) override;

 private:
  LocalRecording(std::unique_ptr<stream::LogEndpoint> log, std::unique_ptr<trace::TraceWriter> writer,
                 model::Capture capture, const SharedMeans& shared, bool overwrite);
  base::Result<> keep(const std::string& why) override;
  base::Result<> finish_ring();
  base::Result<> begin_ring_file(const std::string& path, bool overwrite, const model::Capture& capture);
  base::Result<> begin_next_ring_file();
  void proceed_with_ring();
  void complete_ring_files();
  void tell_kept(const base::Result<>& written);
  void look_at_rules();
  void add_resident(const std::optional<model::ResidentSample>& sample);
  void keep_file(const model::Module& module);
  void keep_files();
  void keep_lost_files();
  void take_names();
  void take_last_names();
  base::Result<model::HeapScan> look_at_memory(const supervision::ScanAccess& access,
                                               const std::optional<wire::ExitNotice>& ending);
  std::unique_ptr<scan::MemoryCopy> begin_copy(std::vector<model::Note>& notes) const;
  [[nodiscard]] supervision::Recorded recorded();
  [[nodiscard]] bool is_worth_a_scan(const std::optional<model::ResidentSample>& resident) const;
  [[nodiscard]] bool knows_all_blocks() const { return capture_.from_start && maker_.sees_all(); }
  // Only those from before heaptap attached are unknown. A child that was forked has a parent, and blocks of which only that one's
  // other threads knew.
  [[nodiscard]] bool may_have_earlier_blocks() const {
    const bool is_attached = !capture_.from_start && capture_.parent_pid == 0;
    return is_attached && maker_.sees_all();
  }
  void write_totals();
  void take_what_is_there();
  base::Result<> write_what_was_taken();
  uint32_t add_scan(model::HeapScan scan);
  void fill(model::Capture& capture, const model::ExitStatus& exit);

  std::unique_ptr<stream::LogEndpoint> log_;
  std::unique_ptr<trace::TraceWriter> writer_;  // into memory, with a ring
  std::string path_;                            // of the file; empty: at the end there was nothing to write to it
  const bool overwrite_;
  model::Capture capture_;
  std::optional<OwnRows> rows_;  // for an agent, which doesn't find all rows itself
  supervision::JitNames jit_names_;
  FileKeeper* keeper_;
  WriteWatches* watches_;
  ingest::TraceBuilder maker_;
  const RingOptions* ring_options_;
  std::vector<ring::LiveRule> rules_;
  std::optional<ring::Ring> ring_;
  std::deque<std::string> reasons_;  // why files are to be written; of the first one it is being written
  std::string kept_path_;            // of that
  uint64_t next_look_ns_ = 0;        // monotonic
  size_t modules_kept_ = 0;          // number already examined
  uint64_t last_file_look_ns_ = base::clock_ns(CLOCK_MONOTONIC);
  size_t codes_seen_ = 0;  // likewise
  uint64_t last_write_ns_ = base::clock_ns(CLOCK_MONOTONIC);
  uint64_t next_totals_ns_ = 0;  // monotonic
  model::Totals last_totals_;
  stream::Seen seen_;
  uint64_t last_pause_ns_ = 0;  // of its last scan
};

}  // namespace heaptap::recordings
