// Client side of the tracer: starts the tracer's process, sends it requests, and receives its messages. The tracer runs
// in a process of its own, which holds all breakpoints and outlives its parent: when this side ends, however it ends,
// the tracer removes its breakpoints, detaches from all processes, and ends.
//
//   attach ▸ LogWanted ▸ give_log ▸ Attached … Exiting ▸ (hold, release) ▸ end_may_go_on … Left
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "capture/log/log_memory.h"
#include "capture/process/stopped_process.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"
#include "common/model/note.h"
#include "common/model/told_functions.h"
#include "common/wire/architecture.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::tracer {

struct TracerOptions {
  bool follow_fork = false;  // children are traced, too
  bool follow_exec = false;  // programs executed by a traced process are traced, too
  bool no_cpp = false;
  bool scan_at_end = false;
  int report_signal = 0;  // counted in the log (wire::LogHeader), and never ends a program; 0: none
  // Functions of static programs without symbols, supplied by another machine. None: no machine was asked.
  std::optional<model::ToldFunctions> told = {};
};

// A process needs a log. Answer with give_log or refuse_log: it is stopped until then.
struct LogWanted {
  enum class Reason : uint32_t { kStart, kAttach, kFork, kExec };
  pid_t process = 0;
  pid_t parent = 0;
  Reason reason = Reason::kStart;
  wire::Architecture architecture = wire::Architecture::kUnknown;
  unsigned word_bytes = 0;
};
// The process is being recorded from now on.
struct Attached {
  pid_t process = 0;
};
// The process can't be traced; `text` names cause and remedy. It continues as before.
struct NotAttached {
  pid_t process = 0;
  std::string text;
};
// The process is about to end and waits: scan its memory (hold), then call end_may_go_on.
struct Exiting {
  pid_t process = 0;
  wire::ExitNotice notice{};
};
// A thread of it asks for something through include/heaptap/heaptap.h, and waits. It continues with the answer, or
// without one after a timeout.
struct Asked {
  enum class Kind : uint32_t { kReport, kScan };
  pid_t process = 0;
  pid_t thread = 0;
  Kind kind = Kind::kReport;
  uint64_t question = 0;  // its number
  std::string path;       // for a report
};
struct Answer {
  // For a leak scan, blocks and bytes each: definite, indirect, possible, reachable, unknown.
  using Counts = std::array<uint64_t, 10>;
  pid_t process = 0;
  uint64_t question = 0;
  int error = 0;  // an errno value; 0: success
  Counts counts{};
};
// No more events of this process: it ended, was detached, or executed an untraced program.
struct Left {
  enum class Reason : uint32_t { kEnded, kDetached, kExecuted, kFailed };
  pid_t process = 0;
  Reason reason = Reason::kEnded;
  std::optional<base::WaitStatus> wait_status;  // if it ended
};
// Note on missing data, for the trace of this process.
struct Noted {
  pid_t process = 0;
  model::Note note;
};
// How long threads of the process have been paused by the tracer in all, leak scans apart. Several times a second, and
// before Left.
struct Paused {
  pid_t process = 0;
  uint64_t total_ns = 0;
};
// The tracer itself is gone. No more messages.
struct TracerGone {
  base::WaitStatus wait_status;
};
using TracerMessage = std::variant<LogWanted, Attached, NotAttached, Exiting, Asked, Left, Noted, Paused, TracerGone>;

class TracerClient {
 public:
  // Creates the tracer's process: call while this one has a single thread.
  static base::Result<std::unique_ptr<TracerClient>> start(const TracerOptions& options);
  // For another process that speaks as the tracer does; `socket`: to it.
  static std::unique_ptr<TracerClient> over(base::UniqueFd socket, pid_t process);
  // Detaches all processes still traced first; bounded.
  ~TracerClient();
  TracerClient(const TracerClient&) = delete;
  TracerClient& operator=(const TracerClient&) = delete;

  [[nodiscard]] pid_t process() const;
  // Readable when a message is available.
  [[nodiscard]] int descriptor() const;
  std::optional<TracerMessage> receive();

  // For a child of ours that waits before it executes the program to trace: returns once it may continue. The error
  // says why it can't be traced.
  base::Result<> attach_before_exec(pid_t process);
  // For a running process. LogWanted or NotAttached follows.
  void attach(pid_t process);
  void give_log(pid_t process, const log::LogMemory& log);
  void refuse_log(pid_t process);
  // Detaches a process, undisturbed. Left follows.
  void detach(pid_t process);
  void detach_all();
  void end_may_go_on(pid_t process, wire::ExitKind kind);
  void answer(const Answer& answer);

  // Stops all threads of a traced process. Messages received during this are kept for receive().
  base::Result<process::StoppedProcess> hold(pid_t process);

 private:
  struct State;
  explicit TracerClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::tracer
