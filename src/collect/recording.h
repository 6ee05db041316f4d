// One process being recorded: its log, and the trace that is written from it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/mapped_stream.h"
#include "collect/process_scan.h"
#include "collect/totals_collector.h"
#include "collect/trace_maker.h"
#include "log/log_memory.h"
#include "model/capture.h"
#include "trace/trace_writer.h"

namespace heaptap::collect {

struct RecordingFigures {
  uint64_t time_ns = 0;  // since the start of the capture
  uint64_t events = 0;
  uint64_t lost_events = 0;
  uint64_t log_used_bytes = 0;
  uint64_t log_limit_bytes = 0;
  uint64_t trace_bytes = 0;
  uint32_t marks = 0;
  uint32_t scans = 0;
};

class Recording {
 public:
  // Makes the log and the trace file.
  static base::Result<std::unique_ptr<Recording>> create(const log::LogOptions& options, model::Capture capture,
                                                         const std::string& path, bool overwrite);

  [[nodiscard]] log::LogMemory& log() { return *log_; }
  [[nodiscard]] const model::Capture& capture() const { return capture_; }
  [[nodiscard]] const std::string& path() const { return writer_->path(); }

  // Takes what was recorded meanwhile. Returns how many bytes of records that was.
  uint64_t poll();
  // Between these two the collector waits for news, and the log may fill.
  void rest() { stream_.reader().rest(); }
  void wake_up() { stream_.reader().wake_up(); }
  // Looks for leaks: stops the process, takes what was recorded up to then, reads its memory, and writes what that says
  // into the trace. With `ending` the process is at its end and waits; it goes on when its memory has been read. Gives the
  // number of the scan.
  base::Result<uint32_t> scan(const ScanAccess& access, const std::optional<wire::ExitNotice>& ending);
  // Names this moment. The mark as the trace has it.
  model::Mark mark(model::MarkKind kind, std::string name);
  // Switches recording off and on again, with a mark of its own; nothing where it is so already. What happens meanwhile isn't seen.
  void set_on(bool on);
  [[nodiscard]] bool is_on() const;
  // Of stacks from now on; 0: all frames that are kept.
  void set_depth(uint32_t frames);
  // Nothing is recorded any more, and the program never waits for the collector again.
  void let_go();
  // Writes all that was recorded up to now.
  base::Result<> write_up_to_now();
  [[nodiscard]] RecordingFigures figures() const;
  // The trace, for reading.
  [[nodiscard]] base::UniqueFd open_trace() const;

  [[nodiscard]] const std::vector<model::Mark>& marks() const { return marks_; }

  // The process goes on as another program.
  void note_exec() { capture_.executed = true; }
  // It is detached.
  void note_detached() { capture_.detached = true; }
  // What couldn't be seen, for the trace.
  void note(model::Note note);
  // Takes the rest and ends the trace. Errors of writing show up here.
  base::Result<> finish(const model::ExitStatus& exit);

 private:
  Recording(std::unique_ptr<log::LogMemory> log, std::unique_ptr<trace::TraceWriter> writer, model::Capture capture);
  base::Result<model::HeapScan> look_at_memory(const ScanAccess& access, const std::optional<wire::ExitNotice>& ending);
  [[nodiscard]] Recorded recorded() const;
  [[nodiscard]] bool saw_all() const;
  void write_totals();
  void take_what_is_there();
  void fill_capture(const model::ExitStatus& exit);
  void note_what_was_not_seen();
  [[nodiscard]] model::Note cause_of_losses() const;
  void note_what_no_agent_saw();
  void note_execs();

  std::unique_ptr<log::LogMemory> log_;
  std::unique_ptr<trace::TraceWriter> writer_;
  model::Capture capture_;
  TotalsCollector totals_;
  MappedStream stream_;
  TraceMaker maker_;
  uint64_t start_monotonic_ns_;
  uint64_t last_write_ns_ = 0;
  uint64_t next_totals_ns_ = 0;  // monotonic
  model::Totals last_totals_;
  uint32_t scan_count_ = 0;
  std::vector<model::Mark> marks_;
  bool end_was_seen_ = false;    // the process waited for a scan at its end
  model::ExitStatus said_exit_;  // how it then said that it ends: of one whose parent alone is told
};

}  // namespace heaptap::collect
