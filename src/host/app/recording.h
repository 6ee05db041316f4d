// One process being recorded: its log, and the trace that is written from it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/app/process_scan.h"
#include "host/app/totals_collector.h"
#include "host/base/result.h"
#include "host/intake/event_coder.h"
#include "host/intake/trace_writer.h"
#include "host/model/capture.h"
#include "target/log_clock.h"
#include "target/log_memory.h"
#include "target/log_reader.h"

namespace heaptap::app {

class Recording {
 public:
  // Makes the log and the trace file.
  static base::Result<std::unique_ptr<Recording>> create(const target::LogOptions& options, model::Capture capture,
                                                         const std::string& path, bool overwrite);

  [[nodiscard]] target::LogMemory& log() { return *log_; }
  [[nodiscard]] const model::Capture& capture() const { return capture_; }
  [[nodiscard]] const std::string& path() const { return writer_->path(); }

  // Takes what was recorded meanwhile. Returns how many bytes of records that was.
  uint64_t poll();
  // Between these two the collector waits for news, and the log may fill.
  void rest() { reader_.rest(); }
  void wake_up() { reader_.wake_up(); }
  // Looks for leaks: stops the process, takes what was recorded up to then, reads its memory, and writes what that says
  // into the trace. With `ending` the process is at its end and waits; it goes on when its memory has been read. Gives the
  // number of the scan.
  base::Result<uint32_t> scan(const ScanAccess& access, const std::optional<wire::EndingNotice>& ending);
  // The process goes on as another program.
  void note_exec() { capture_.executed = true; }
  // It is let go of.
  void note_detached() { capture_.detached = true; }
  // What couldn't be seen, for the trace.
  void note(std::string text);
  // Takes the rest and ends the trace. Errors of writing show up here.
  base::Result<> finish(const model::ExitStatus& exit);

 private:
  Recording(std::unique_ptr<target::LogMemory> log, std::unique_ptr<intake::TraceWriter> writer,
            model::Capture capture);
  void take_all();
  void code_events(bool last);
  [[nodiscard]] bool is_overdue(const wire::RawEvent& event) const;
  void add_batch();
  void write_frame();
  void write_totals();
  void read_modules();
  void read_threads();
  void add_thread(uint32_t number, uint32_t kernel_id, bool ask_name);
  void update_clock();
  [[nodiscard]] uint32_t gaps() const;
  void fill_capture(const model::ExitStatus& exit);
  void note_what_was_not_seen();
  [[nodiscard]] std::string cause_of_losses() const;
  void note_what_no_agent_saw();
  void note_execs();

  std::unique_ptr<target::LogMemory> log_;
  std::unique_ptr<intake::TraceWriter> writer_;
  model::Capture capture_;
  model::Tables tables_;
  target::LogReader reader_;
  intake::EventCoder coder_;
  TotalsCollector totals_;
  target::LogClock clock_;
  intake::ClockScale scale_;
  uint64_t start_monotonic_ns_;
  uint64_t last_write_ns_ = 0;
  uint64_t next_totals_ns_ = 0;  // monotonic
  model::Totals last_totals_;
  bool goes_past_hooks_ = false;  // some object's calls do
  uint32_t modules_read_ = 0;     // bytes
  target::RawEvents raw_;
  std::vector<bool> threads_known_;  // by number
  model::EventBatch batch_;
  base::Result<> written_;  // the first failure
  uint32_t scan_count_ = 0;
  bool is_in_own_namespace_ = false;  // of pids: the agent knows threads by other numbers
  bool end_was_seen_ = false;         // the process waited for a scan at its end
};

}  // namespace heaptap::app
