// Registry of the recorded processes, each with its log, its trace and its control socket, and of the finished traces.
#pragma once
#include <sys/types.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/log/clock_trust.h"
#include "capture/supervision/log_half.h"
#include "capture/supervision/recording.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"
#include "common/endpoint/process_socket.h"
#include "common/wire/architecture.h"

namespace heaptap::supervision {

class TraceHalf;

struct RecordingOptions {
  log::LogOptions log;
  log::ClockVerdict clock = {};  // if not trusted, times are counted
  std::string output;            // pattern of trace names; empty: default
  bool overwrite = false;
  bool numbers_files = false;        // if a file exists, appends the next number to the name
  std::string via;                   // "agent" or "ptrace"
  std::vector<std::string> command;  // of the program that is started; empty: none
  std::string executable;
  std::vector<model::SuppressionText> suppressions = {};  // stored in the traces
  // Machine of the processes as named by the user, which together with a PID identifies one. Empty: this machine; none:
  // no control sockets.
  std::optional<std::string> machine = "";
  // Called once, with the process that has no control socket while it is recorded, and the reason.
  std::function<void(pid_t process, const std::string& why)> tell_unreachable = {};
};

// Recording of one process, with those of its halves that are on this machine.
struct RecordingHalves {
  // The implementation's base classes say which.
  template <std::derived_from<Recording> Implementation>
  RecordingHalves(std::unique_ptr<Implementation> made) {  // NOLINT(google-explicit-constructor): a maker's result
    if constexpr (std::derived_from<Implementation, LogHalf>) log_half = made.get();
    if constexpr (std::derived_from<Implementation, TraceHalf>) trace_half = made.get();
    recording = std::move(made);
  }

  std::unique_ptr<Recording> recording;
  LogHalf* log_half = nullptr;      // null: the process runs on another machine
  TraceHalf* trace_half = nullptr;  // null: its trace is written on another machine
};

// Factory for the recording of one process: its log, its trace, or both.
using RecordingMaker = std::function<base::Result<RecordingHalves>(
    const log::LogOptions& options, const model::Capture& capture, const std::string& path, bool overwrite)>;

// Program started by heaptap itself.
struct StartedProgram {
  pid_t process = -1;              // -1: none
  base::UniqueFd descriptor = {};  // pidfd; none: not provided by the kernel
  bool ended = false;
  base::WaitStatus status = {};

  [[nodiscard]] bool is(pid_t other) const { return process > 0 && process == other; }
  [[nodiscard]] bool runs() const { return process > 0 && !ended; }
};

struct RecordedProcess {
  pid_t pid = 0;
  std::unique_ptr<Recording> recording;
  LogHalf* log_half = nullptr;  // see RecordingHalves
  TraceHalf* trace_half = nullptr;
  std::optional<endpoint::ProcessSocket> control;  // listens for its clients; none where that wasn't possible
  uint32_t image = 1;                              // counts the programs of the process
  model::ExitStatus exit;                          // of one that ended, where it is known
  // See report_requests.h.
  uint32_t report_requests_seen = 0;
  uint32_t reports = 0;  // number of report marks in its trace
  bool is_report_wanted = false;
};

// Facts of a recording whose process is no longer in `all`.
struct EndedProcess {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t image = 1;
  std::string program;
  std::string via;
  std::string trace;  // path
  bool executed = false;
  bool detached = false;
  model::ExitStatus exit;
};

struct FinishedTrace {
  std::string path;
  uint32_t pid = 0;
  std::string failure;    // why it couldn't be written, or not completely
  bool executed = false;  // the process executed another program, which may have a trace of its own
  uint32_t parent_pid = 0;
  uint32_t image = 1;           // number of the program within its process: 1, 2, …
  std::string program = {};     // as started
  std::string first_path = {};  // path taken over by another program's trace; empty: `path` is the first
};

model::ExitStatus exit_of(base::WaitStatus status);

// Program name as started, or its file where unknown.
const std::string& program_of(const model::Capture& capture);

// Facts of a process at the start of its recording.
struct RecordingStart {
  pid_t process = 0;
  pid_t parent = 0;
  wire::Architecture architecture = wire::Architecture::kUnknown;
  unsigned word_bytes = 0;
  bool begins_off = false;  // unless recording was switched for all processes
  bool from_start = true;   // no part of it ran unseen
};

class RecordedProcesses {
 public:
  RecordedProcesses(RecordingOptions options, RecordingMaker maker)
      : options_(std::move(options)), maker_(std::move(maker)) {}
  RecordedProcesses(const RecordedProcesses&) = delete;
  RecordedProcesses& operator=(const RecordedProcesses&) = delete;

  // Creates log and trace. Null: that failed; the traces have the reason. Pointers are valid until the next begin, end or drop.
  RecordedProcess* begin(const RecordingStart& beginning);
  // As above, with a description from the machine where the process runs.
  RecordedProcess* begin(const model::Capture& capture, bool begins_off);
  RecordedProcess* find(pid_t process);
  // Whether it is recorded now, or was earlier.
  [[nodiscard]] bool knows(pid_t process) const;
  // Ends the recording and forgets the process.
  void end(pid_t process, const model::ExitStatus& exit);
  // For a process that executes another program, which gets a recording of its own under the requested name.
  void end_by_exec(pid_t process);
  // For a recording that never began: removes its file, and the previous program gets its name back.
  void drop(pid_t process);
  // Callback for each recording before it ends.
  void before_end(std::function<void(RecordedProcess&)> hook) { before_end_ = std::move(hook); }

  // Takes all new events. Returns the maximum number of bytes of one process.
  uint64_t drain();

  [[nodiscard]] std::vector<RecordedProcess>& all() { return processes_; }
  [[nodiscard]] const std::vector<EndedProcess>& ended() const { return ended_; }
  [[nodiscard]] const RecordingOptions& options() const { return options_; }
  // For future recordings: switched off or on, whatever they request.
  void begin_switched_off(bool off) { begin_off_ = off; }
  // For all stacks from now on, see EventCoder::set_depth.
  void set_depth(uint32_t frames);
  [[nodiscard]] uint32_t depth() const { return depth_ != 0 ? depth_ : options_.log.depth_limit; }
  [[nodiscard]] bool empty() const { return processes_.empty(); }
  [[nodiscard]] StartedProgram& program() { return program_; }

  // Those of `first` come first, in that order; of each process its last program comes before the earlier ones.
  std::vector<FinishedTrace> take_traces(const std::vector<pid_t>& first);

 private:
  model::Capture describe(const RecordingStart& beginning) const;
  base::Result<RecordingHalves> make_recording(const model::Capture& capture);
  std::optional<endpoint::ProcessSocket> listen_for(pid_t process);
  std::string choose_path(const model::Capture& capture);
  void make_way_for_next(FinishedTrace& trace, const model::Capture& capture);
  void take_back_way(FinishedTrace& trace);
  void forget(pid_t process);

  // State passed from one program of a process to the next.
  struct Inheritance {
    pid_t pid = 0;
    std::vector<model::Mark> marks;
    bool is_on = true;
  };

  RecordingOptions options_;
  RecordingMaker maker_;
  StartedProgram program_;
  std::vector<RecordedProcess> processes_;
  std::vector<FinishedTrace> traces_;
  std::vector<EndedProcess> ended_;
  Inheritance inheritance_;  // of the last exec: the next program begins right after it
  std::optional<bool> begin_off_;
  uint32_t depth_ = 0;  // 0: the log's
  bool told_unreachable_ = false;
  std::set<std::string> used_paths_;
  std::function<void(RecordedProcess&)> before_end_;
};

}  // namespace heaptap::supervision
