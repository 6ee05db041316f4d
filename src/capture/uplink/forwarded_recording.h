// Target's half of a remote recording, with the log only: its events are sent to the host in order, and kept here until
// the host has them. If the line has no room, events stay in the log; when that is full, the program waits or events
// are dropped, as configured. A leak scan takes nothing out of the log: it looks ahead, and its result is kept here
// until the earlier events have been sent.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/stream/live_heap.h"
#include "capture/stream/log_endpoint.h"
#include "capture/stream/raw_stream.h"
#include "capture/supervision/jit_names.h"
#include "capture/supervision/log_half.h"
#include "capture/supervision/recording.h"
#include "capture/supervision/recording_index.h"
#include "capture/uplink/asked_host.h"
#include "capture/uplink/row_supply.h"
#include "capture/uplink/uplink.h"
#include "common/line/compression.h"
#include "common/line/line_messages.h"

namespace heaptap::uplink {

struct ForwardingOptions {
  bool gives_memory = true;  // a scan's data from the process's memory may be sent to the host
  bool gives_files = true;   // and the contents of the process's files
  line::Compression compression = line::Compression::kAuto;
  std::chrono::nanoseconds orphan_timeout{};  // how long it is kept without a host; 0: not at all
  std::chrono::nanoseconds exit_wait =
      std::chrono::seconds(10);  // maximum time that an ending process waits for the host
  unsigned table_bits = stream::EventGuesses::kUsualTableBits;  // of the stream
  stream::FramePacker* packer = nullptr;                        // must outlive the recording; null: no compression
  AskedHost* host = nullptr;                                    // likewise; null: there is none, as for a file
};

class ForwardedRecording;
using ForwardedRecordings = supervision::RecordingIndex<ForwardedRecording>;

class ForwardedRecording : public supervision::Recording, public supervision::LogHalf {
 public:
  // Creates the log, and announces a stream of this number. The uplink must outlive it.
  static base::Result<std::unique_ptr<ForwardedRecording>> create(Uplink& uplink, uint64_t stream,
                                                                  const log::LogOptions& options,
                                                                  model::Capture capture,
                                                                  const ForwardingOptions& forwarding);

  ~ForwardedRecording() override;

  // Adds it to `all`, as long as it exists.
  void list_in(ForwardedRecordings& all) { entry_.emplace(all, *this); }

  [[nodiscard]] log::LogMemory& log() override { return log_->log(); }
  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  uint64_t poll() override;
  void rest() override { log_->stream().reader().rest(); }
  void wake_up() override { log_->stream().reader().wake_up(); }
  base::Result<uint32_t> scan(const supervision::ScanAccess& access,
                              const std::optional<wire::ExitNotice>& ending) override;
  // Whether the last scan's result is on the way to the host: after the earlier events.
  [[nodiscard]] bool has_told_scan() const { return scanned_.empty(); }
  // The host numbers marks: the returned one has no number.
  base::Result<model::Mark> mark(model::MarkKind kind, std::string name) override;
  void begin_off() override;
  base::Result<> set_on(bool on) override;
  [[nodiscard]] bool is_on() const override { return log_->is_on(); }
  // Another host takes over without any state: sends the required state again, then the events from now on.
  void restart();
  void set_paused_by_tracer(uint64_t total_ns) override { log_->set_paused_by_tracer(total_ns); }
  void detach() override { log_->turn_to(wire::RecordingSwitch::kDetached); }
  base::Result<> write_up_to_now() override;
  [[nodiscard]] supervision::RecordingFigures figures() const override;
  void note_exec() override { capture_.executed = true; }
  void note_detached() override { capture_.detached = true; }
  void note(model::Note note) override { stream::add_note(capture_, std::move(note)); }
  [[nodiscard]] bool can_finish() override;
  base::Result<> finish(const model::ExitStatus& exit) override;

  [[nodiscard]] uint64_t stream() const { return number_; }

 private:
  ForwardedRecording(Uplink& uplink, uint64_t number, std::unique_ptr<stream::LogEndpoint> log, model::Capture capture,
                     const ForwardingOptions& forwarding);
  uint64_t forward(bool last);
  void note_what_is_alive();
  void look_ahead(stream::MappedRanges& mapped);
  void take_what_is_there();
  void take_all();
  void send_bytes();
  void tell_figures();
  void add_resident(const std::optional<model::ResidentSample>& sample);
  void send_resident();
  void tell_beginning();
  void offer_files(size_t first, std::span<const model::Module> modules);
  [[nodiscard]] supervision::JitNamesOptions names_options() const;
  void seek_names();
  void send_names();
  bool has_told_names(std::chrono::nanoseconds most);
  static base::Result<> no_memory();
  base::Result<> ask_what_is_alive(std::optional<ExitWait> exit_wait);
  [[nodiscard]] std::optional<ExitWait> wait_at(const std::optional<wire::ExitNotice>& ending) const;
  base::Result<> look_at_memory(const supervision::ScanAccess& access, const std::optional<wire::ExitNotice>& ending);
  void keep_answer(std::span<const uint8_t> bytes, const line::ScanEnd* end);
  void send_scan();

  Uplink& uplink_;
  const uint64_t number_;
  const ForwardingOptions forwarding_;
  const unsigned cpus_;
  std::unique_ptr<stream::LogEndpoint> log_;
  model::Capture capture_;
  std::optional<stream::RawStreamWriter> writer_;
  log::RawEvents events_;
  std::vector<model::Module> modules_;  // new in the last drain
  std::vector<model::Thread> threads_;
  std::vector<model::Module> told_modules_;  // all reported ones
  std::vector<model::Thread> told_threads_;
  std::optional<RowSupply> rows_;  // of a host
  std::optional<supervision::JitNames> jit_names_;
  std::vector<model::ResidentSample> resident_;  // not sent
  model::CodeId code_count_ = 0;                 // in the stream
  uint64_t event_count_ = 0;
  size_t module_count_ = 0;
  std::optional<uint64_t> left_at_ns_;  // end of the process, in the stream's time
  uint64_t told_ns_ = 0;                // last time that progress was reported to the host
  stream::MappedRanges mapped_;
  // During a scan: the live blocks; while the host is asked for them, including later events from the log.
  std::optional<stream::LiveBlocks> live_;
  std::optional<std::deque<wire::RawEvent>> behind_question_;
  uint64_t last_pause_ns_ = 0;  // of the last scan
  bool is_scanned_optional_ = false;
  std::vector<message::Message> scanned_;  // pieces of a scan's answer, kept until the earlier events have been sent
  bool was_off_ = false;
  stream::Seen seen_;
  bool is_finished_ = false;
  std::optional<ForwardedRecordings::Entry> entry_;
};

}  // namespace heaptap::uplink
