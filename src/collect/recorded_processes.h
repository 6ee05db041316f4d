// The processes that are being recorded, each with its log, its trace and the socket on which it can be asked for; and the
// traces of those that are finished.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collect/recording.h"
#include "control/process_socket.h"
#include "log/clock_trust.h"
#include "wire/architecture.h"

namespace heaptap::collect {

struct RecordingOptions {
  log::LogOptions log;
  log::ClockVerdict clock = {};  // where it isn't trusted, times are counted
  std::string output;            // pattern of the traces' names; empty: by default
  bool overwrite = false;
  bool numbers_files = false;        // where one is there, the next number behind the name
  std::string via;                   // "agent" or "ptrace"
  std::vector<std::string> command;  // of the program that is started; empty: none is
  std::string executable;
  std::vector<model::SuppressionText> suppressions = {};  // that the traces carry
  // Where the processes run, as the user names it: who wants something of one asks by both. Empty: on this machine; none: nobody
  // can ask.
  std::optional<std::string> machine = "";
  // Told once, with the process that can't be asked for while it is recorded, and why.
  std::function<void(pid_t process, const std::string& why)> tell_unreachable = {};
};

// Makes the recording of one process: its log, its trace, or both.
using RecordingMaker = std::function<base::Result<std::unique_ptr<Recording>>(
    const log::LogOptions& options, const model::Capture& capture, const std::string& path, bool overwrite)>;

// The program that heaptap itself started.
struct StartedProgram {
  pid_t process = -1;              // -1: none was
  base::UniqueFd descriptor = {};  // pidfd; none: the kernel gave none
  bool ended = false;
  int status = 0;  // as waitpid has it

  [[nodiscard]] bool is(pid_t other) const { return process > 0 && process == other; }
  [[nodiscard]] bool runs() const { return process > 0 && !ended; }
};

struct RecordedProcess {
  pid_t pid = 0;
  std::unique_ptr<Recording> recording;
  std::optional<control::ProcessSocket> control;  // listens for who asks for it; none where that wasn't possible
  uint32_t image = 1;                             // counts the programs of the process
  model::ExitStatus exit;                         // of one that ended, where it is known
  // See report_requests.h.
  uint32_t report_requests_seen = 0;
  uint32_t reports = 0;  // marks of reports that its trace has
  bool is_report_wanted = false;
};

// Of a recording whose process is gone from `all`: what there is to say of it.
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
  std::string failure;    // why it couldn't be written, or not to its end
  bool executed = false;  // the process went on as another program, which may have a trace of its own
  uint32_t parent_pid = 0;
  uint32_t image = 1;           // of the process's programs the first, second, …
  std::string program = {};     // as it was started
  std::string first_path = {};  // that the other program's trace has got; empty: `path` is the first
};

model::ExitStatus exit_of(int wait_status);

// As it was started, or its file where that isn't known.
const std::string& program_of(const model::Capture& capture);

// What is known of a process as its recording begins.
struct Beginning {
  pid_t process = 0;
  pid_t parent = 0;
  wire::Architecture architecture = wire::Architecture::kUnknown;
  unsigned word_bytes = 0;
  bool begins_off = false;  // as long as nobody switched all of them
  bool from_start = true;   // nothing of it ran unseen
};

class RecordedProcesses {
 public:
  RecordedProcesses(RecordingOptions options, RecordingMaker maker)
      : options_(std::move(options)), maker_(std::move(maker)) {}
  RecordedProcesses(const RecordedProcesses&) = delete;
  RecordedProcesses& operator=(const RecordedProcesses&) = delete;

  // Makes log and trace. Null: that failed, which the traces tell. Pointers hold until the next begin, end or drop.
  RecordedProcess* begin(const Beginning& beginning);
  // The same of one that was described already, on the machine where it runs.
  RecordedProcess* begin(const model::Capture& capture, bool begins_off);
  RecordedProcess* find(pid_t process);
  // Recorded now, or once.
  [[nodiscard]] bool knows(pid_t process) const;
  // Ends the recording, and with it what was known of the process.
  void end(pid_t process, const model::ExitStatus& exit);
  // One that goes on as another program, which gets a recording of its own: under the name that was asked for.
  void end_by_exec(pid_t process);
  // One whose recording never began: no file is left of it, and the program before it has its name again.
  void drop(pid_t process);
  // Called with each recording before it ends.
  void before_end(std::function<void(RecordedProcess&)> hook) { before_end_ = std::move(hook); }

  // Takes what all of them wrote meanwhile. The most bytes of one.
  uint64_t drain();

  [[nodiscard]] std::vector<RecordedProcess>& all() { return processes_; }
  [[nodiscard]] const std::vector<EndedProcess>& ended() const { return ended_; }
  [[nodiscard]] const RecordingOptions& options() const { return options_; }
  // For recordings that begin from now on: switched off or on, whatever they ask for.
  void begin_switched_off(bool off) { begin_off_ = off; }
  // Of all stacks from now on, see EventCoder::set_depth.
  void set_depth(uint32_t frames);
  [[nodiscard]] uint32_t depth() const { return depth_ != 0 ? depth_ : options_.log.depth_limit; }
  [[nodiscard]] bool empty() const { return processes_.empty(); }
  [[nodiscard]] StartedProgram& program() { return program_; }

  // Those of `first` come first, in that order; of each the program that it became last comes before those that it was.
  std::vector<FinishedTrace> take_traces(const std::vector<pid_t>& first);

 private:
  model::Capture describe(const Beginning& beginning) const;
  base::Result<std::unique_ptr<Recording>> make_recording(const model::Capture& capture);
  std::optional<control::ProcessSocket> listen_for(pid_t process);
  std::string choose_path(const model::Capture& capture);
  void make_way_for_next(FinishedTrace& trace, const model::Capture& capture);
  void take_back_way(FinishedTrace& trace);
  void forget(pid_t process);

  // What the next program of a process has from the one before it.
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
  Inheritance inheritance_;  // of the last one that ended by exec: its next program begins at once
  std::optional<bool> begin_off_;
  uint32_t depth_ = 0;  // 0: as the log has it
  bool told_unreachable_ = false;
  std::set<std::string> used_paths_;
  std::function<void(RecordedProcess&)> before_end_;
};

}  // namespace heaptap::collect
