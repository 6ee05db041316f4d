// Host's half of a remote recording, with the trace: its events come from the machine where the process runs.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/stream/frame_packing.h"
#include "capture/stream/live_heap.h"
#include "capture/stream/raw_stream.h"
#include "capture/supervision/recording.h"
#include "capture/supervision/recording_index.h"
#include "capture/supervision/trace_half.h"
#include "common/base/clock.h"
#include "common/line/line_messages.h"
#include "common/message/message.h"
#include "record/ingest/trace_builder.h"
#include "record/trace/trace_writer.h"

namespace heaptap::remote {

// Requests of the recording to the other machine. Each waits for the answer.
class TargetControl {
 public:
  TargetControl() = default;
  TargetControl(const TargetControl&) = delete;
  TargetControl& operator=(const TargetControl&) = delete;
  virtual ~TargetControl() = default;
  virtual base::Result<> ask(message::Number request, message::Fields fields) = 0;
};

class RemoteRecording;
using RemoteRecordings = supervision::RecordingIndex<RemoteRecording>;

class RemoteRecording : public supervision::Recording, public supervision::TraceHalf {
 public:
  // Creates the trace. `target` must outlive it.
  static base::Result<std::unique_ptr<RemoteRecording>> create(TargetControl& target, model::Capture capture,
                                                               const std::string& path, bool overwrite);

  // See TraceWriter::share_frames.
  void share_frames(trace::FramePool* pool) { writer_->share_frames(pool); }
  // Adds it to `all`, as long as it exists.
  void list_in(RemoteRecordings& all) { entry_.emplace(all, *this); }

  // Received bytes of its stream.
  void receive(std::string_view bytes);
  void receive_mark(model::Mark mark);
  // Names given by the program to codes that its stream contained before.
  void receive_names(std::string_view bytes);
  // Samples of its resident memory. Damaged ones are left out.
  void receive_resident(std::string_view bytes);
  // Modules of its process, as far as taken; `all`: including those only received.
  const std::vector<model::Module>& modules(bool all);
  // Live blocks after all data received, with released ones if needed.
  [[nodiscard]] stream::LiveBlocks live_blocks();
  // Whether a scan needs the released ones.
  [[nodiscard]] bool needs_released() const;
  // Result of a scan, with its facts.
  base::Result<> receive_scan(std::span<const uint8_t> found, const line::ScanEnd& end);
  // Reason why there is no scan, though the other machine sent one.
  void refuse_scan(const base::Error& why);
  void receive_figures(const line::StreamFigures& figures);
  // End of the capture as reported by the other machine; `notes_before` of its notes precede this side's.
  void receive_end(std::string_view capture, size_t notes_before);
  // Connection ended for good, without the capture's end.
  void cut_off();

  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const std::string& path() const override { return writer_->path(); }
  uint64_t poll() override;
  // Leak scan by the other machine. Returns its number.
  base::Result<uint32_t> scan();
  void begin_behind(const std::vector<model::Mark>& earlier) override;
  base::Result<model::Mark> mark(model::MarkKind kind, std::string name) override;
  // Already done by the target's side before it reports the process.
  void begin_off() override { (void)set_on(false); }
  base::Result<> set_on(bool on) override;
  [[nodiscard]] bool is_on() const override { return is_on_; }
  void set_depth(uint32_t frames) override;
  base::Result<> write_up_to_now() override;
  base::Result<> write_up_to_mark(model::MarkKind kind, std::string name) override;
  [[nodiscard]] supervision::RecordingFigures figures() const override;
  [[nodiscard]] base::UniqueFd open_trace() const override { return writer_->open_for_reading(); }
  [[nodiscard]] const std::vector<model::Mark>& marks() const override { return maker_.marks(); }
  void note_exec() override { capture_.executed = true; }
  void note_detached() override { capture_.detached = true; }
  void note(model::Note note) override;
  base::Result<> finish(const model::ExitStatus& exit) override;

 private:
  RemoteRecording(TargetControl& target, std::unique_ptr<trace::TraceWriter> writer, model::Capture capture);
  void take_received();
  void take_crash(std::string_view bytes);
  void take_names();
  base::Result<> write_frame();
  [[nodiscard]] message::Fields fields_of_process() const;

  TargetControl& target_;
  std::unique_ptr<trace::TraceWriter> writer_;
  model::Capture capture_;
  stream::DeflateUnpacker unpacker_;
  stream::ReceivedStream stream_{&unpacker_};
  ingest::TraceBuilder maker_;
  line::StreamFigures told_;            // last report of the other machine
  std::vector<model::CodeName> names_;  // of codes, by their numbers in the stream, that no taken event has used so far
  std::vector<bool> named_;             // by these numbers
  size_t name_bytes_ = 0;               // received
  bool is_on_ = true;
  bool has_ended_ = false;
  size_t notes_before_ = 0;
  base::Error why_no_scan_;  // for the last requested one
  uint64_t last_write_ns_ = base::clock_ns(CLOCK_MONOTONIC);
  std::optional<RemoteRecordings::Entry> entry_;
};

}  // namespace heaptap::remote
