// A recording of which this machine has the log alone: what comes out of it goes to the host as it comes, in order, and is kept here
// until the host has it. Where the line has no room, the events stay in the log; when that is full, the program waits or events are
// dropped, as it was asked for. A leak scan takes nothing out of the log: it looks at what there is, and what it found waits here until
// those events have gone.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collect/jit_names.h"
#include "collect/live_heap.h"
#include "collect/log_side.h"
#include "collect/raw_stream.h"
#include "collect/recording.h"
#include "remote/compression.h"
#include "remote/outlet.h"
#include "remote/row_supply.h"

namespace heaptap::remote {

struct ForwardingOptions {
  bool gives_memory = true;  // what a leak scan needs of the process's memory may go to the host
  bool gives_files = true;   // and what the process's files say
  Compression compression = Compression::kAuto;
  std::chrono::nanoseconds orphan_timeout{};  // so long it is kept for a host that is gone; 0: nobody waits
  std::chrono::nanoseconds exit_wait = std::chrono::seconds(10);  // a process waits with its end for the host, at most
  unsigned table_bits = collect::EventGuesses::kUsualTableBits;   // of the stream
  collect::FramePacker* packer = nullptr;  // outlives the recording; null: there is no compression
};

class ForwardedRecording : public collect::Recording {
 public:
  // Makes the log, and tells that a stream of this number begins. The outlet outlives it.
  static base::Result<std::unique_ptr<collect::Recording>> create(Outlet& outlet, uint64_t stream,
                                                                  const log::LogOptions& options,
                                                                  model::Capture capture,
                                                                  const ForwardingOptions& forwarding);

  ~ForwardedRecording() override;

  [[nodiscard]] log::LogMemory* log() override { return &log_->log(); }
  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const std::string& path() const override { return no_path_; }
  uint64_t poll() override;
  void rest() override { log_->stream().reader().rest(); }
  void wake_up() override { log_->stream().reader().wake_up(); }
  base::Result<uint32_t> scan(const collect::ScanAccess& access,
                              const std::optional<wire::ExitNotice>& ending) override;
  [[nodiscard]] bool has_told_scan() const override { return scanned_.empty(); }
  // The host has them.
  void begin_behind(const std::vector<model::Mark>& /*earlier*/) override {}
  // The host counts marks: what is returned has no number.
  base::Result<model::Mark> mark(model::MarkKind kind, std::string name) override;
  void begin_off() override;
  base::Result<> set_on(bool on) override;
  [[nodiscard]] bool is_on() const override { return log_->is_on(); }
  // Stacks are cut on the host.
  void set_depth(uint32_t /*frames*/) override {}
  void begin_anew() override;
  void let_go() override { log_->turn_to(wire::RecordingSwitch::kLetGo); }
  base::Result<> write_up_to_now() override;
  base::Result<> write_up_to_mark(model::MarkKind kind, std::string name) override;
  [[nodiscard]] collect::RecordingFigures figures() const override;
  [[nodiscard]] base::UniqueFd open_trace() const override { return {}; }
  [[nodiscard]] const std::vector<model::Mark>& marks() const override { return no_marks_; }
  void note_exec() override { capture_.executed = true; }
  void note_detached() override { capture_.detached = true; }
  void note(model::Note note) override { collect::add_note(capture_, std::move(note)); }
  [[nodiscard]] bool can_finish() override;
  base::Result<> finish(const model::ExitStatus& exit) override;

  [[nodiscard]] uint64_t stream() const { return number_; }

 private:
  ForwardedRecording(Outlet& outlet, uint64_t number, std::unique_ptr<collect::LogSide> log, model::Capture capture,
                     const ForwardingOptions& forwarding);
  uint64_t forward(bool last);
  void note_what_is_alive();
  void look_ahead(collect::MappedRanges& mapped);
  void take_what_is_there();
  void take_all();
  void send_bytes();
  void send(control::Kind kind, control::Fields fields);
  void tell_figures();
  void tell_beginning();
  [[nodiscard]] collect::JitNamesOptions names_options() const;
  void seek_names();
  void send_names();
  bool has_told_names(std::chrono::nanoseconds most);
  static base::Result<> no_memory();
  base::Result<> ask_what_is_alive(std::optional<std::chrono::nanoseconds> exit_wait);
  base::Result<> look_at_memory(const collect::ScanAccess& access, const std::optional<wire::ExitNotice>& ending);
  void keep_answer(std::span<const uint8_t> bytes, control::Fields* end);
  void send_scan();

  Outlet& outlet_;
  const uint64_t number_;
  const ForwardingOptions forwarding_;
  const unsigned cpus_;
  std::unique_ptr<collect::LogSide> log_;
  model::Capture capture_;
  std::optional<collect::RawStreamWriter> writer_;
  log::RawEvents events_;
  std::vector<model::Module> modules_;  // of the last drain
  std::vector<model::Thread> threads_;
  std::vector<model::Module> told_modules_;  // all
  std::vector<model::Thread> told_threads_;
  RowSupply rows_;
  std::optional<collect::JitNames> jit_names_;
  model::CodeId code_count_ = 0;  // in the stream
  uint64_t event_count_ = 0;
  uint64_t module_count_ = 0;
  std::optional<uint64_t> left_at_ns_;  // as the stream counts: the process was gone
  uint64_t told_ns_ = 0;                // when the host was told how far it is
  collect::MappedRanges mapped_;
  // While a scan is being made: what is alive; and while the host is asked for it, what came out of the log behind the question.
  std::optional<collect::LiveBlocks> live_;
  std::optional<std::deque<wire::RawEvent>> behind_question_;
  std::vector<control::Fields> scanned_;  // the pieces of a scan's answer, until what came before it has gone
  bool was_off_ = false;
  collect::Seen seen_;
  bool is_finished_ = false;
  const std::string no_path_;
  const std::vector<model::Mark> no_marks_;
};

}  // namespace heaptap::remote
