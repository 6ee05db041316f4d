// A recording of which this machine has the trace: its events come from the machine where the process runs.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collect/frame_packing.h"
#include "collect/live_heap.h"
#include "collect/raw_stream.h"
#include "collect/recording.h"
#include "collect/trace_maker.h"
#include "control/message.h"
#include "trace/trace_writer.h"

namespace heaptap::remote {

// What the recording asks of the other machine. Each waits for the answer.
class TargetControl {
 public:
  TargetControl() = default;
  TargetControl(const TargetControl&) = delete;
  TargetControl& operator=(const TargetControl&) = delete;
  virtual ~TargetControl() = default;
  virtual base::Result<> ask(control::Kind request, control::Fields fields) = 0;
};

class RemoteRecording : public collect::Recording {
 public:
  // Makes the trace. The other machine's side outlives it.
  static base::Result<std::unique_ptr<collect::Recording>> create(TargetControl& target, model::Capture capture,
                                                                  const std::string& path, bool overwrite);

  // What came of its stream.
  void receive(std::string_view bytes);
  void receive_mark(model::Mark mark);
  // What the program calls codes of its stream that came before.
  void receive_names(std::string_view bytes);
  // Of its process, as far as they were taken; `all`: those as well that only came.
  const std::vector<model::Module>& modules(bool all);
  // What is alive by all that came so far.
  [[nodiscard]] collect::LiveBlocks live_blocks();
  // All that a scan found, and the facts of it.
  base::Result<> receive_scan(std::span<const uint8_t> found, const control::Fields& fields);
  // Why there is no scan, though the other machine sent one.
  void refuse_scan(const base::Error& why);
  void receive_figures(const collect::RecordingFigures& figures);
  // The end of the capture as the other machine tells it; of its notes so many come before this side's own.
  void receive_end(std::string_view capture, size_t notes_before);
  // No more comes, and the end wasn't told.
  void cut_off();

  [[nodiscard]] log::LogMemory* log() override { return nullptr; }
  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const std::string& path() const override { return writer_->path(); }
  uint64_t poll() override;
  void rest() override {}
  void wake_up() override {}
  base::Result<uint32_t> scan(const collect::ScanAccess& access,
                              const std::optional<wire::ExitNotice>& ending) override;
  void begin_behind(const std::vector<model::Mark>& earlier) override;
  base::Result<model::Mark> mark(model::MarkKind kind, std::string name) override;
  // Of what the target's side does before it tells of the process.
  void begin_off() override { (void)set_on(false); }
  base::Result<> set_on(bool on) override;
  [[nodiscard]] bool is_on() const override { return is_on_; }
  void set_depth(uint32_t frames) override;
  void let_go() override {}
  base::Result<> write_up_to_now() override;
  base::Result<> write_up_to_mark(model::MarkKind kind, std::string name) override;
  [[nodiscard]] collect::RecordingFigures figures() const override;
  [[nodiscard]] base::UniqueFd open_trace() const override { return writer_->open_for_reading(); }
  [[nodiscard]] const std::vector<model::Mark>& marks() const override { return maker_.marks(); }
  void note_exec() override { capture_.executed = true; }
  void note_detached() override { capture_.detached = true; }
  void note(model::Note note) override;
  base::Result<> finish(const model::ExitStatus& exit) override;

 private:
  RemoteRecording(TargetControl& target, std::unique_ptr<trace::TraceWriter> writer, model::Capture capture);
  void take_received();
  void take_names();
  base::Result<> write_frame();
  [[nodiscard]] control::Fields fields_of_process() const;

  TargetControl& target_;
  std::unique_ptr<trace::TraceWriter> writer_;
  model::Capture capture_;
  collect::DeflateUnpacker unpacker_;
  collect::ReceivedStream stream_{&unpacker_};
  collect::TraceMaker maker_;
  collect::RecordingFigures figures_;   // as the other machine told them last
  std::vector<model::CodeName> names_;  // of codes by their numbers in the stream, that no event was taken with so far
  std::vector<bool> named_;             // by these numbers
  size_t name_bytes_ = 0;               // that came
  bool is_on_ = true;
  bool has_ended_ = false;
  size_t notes_before_ = 0;
  uint32_t scan_count_ = 0;
  base::Error why_no_scan_;  // of the last one that was asked for
  uint64_t last_write_ns_ = 0;
};

}  // namespace heaptap::remote
