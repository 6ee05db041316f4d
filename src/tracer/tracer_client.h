// heaptap's side of the tracer: starts the tracer's process, tells it what to trace, and hears from it. The tracer lives in a
// process of its own, which holds all breakpoints and outlives whoever started it: when this side ends, however it ends, it
// takes its breakpoints out, lets every process go on as it was, and ends.
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

#include "base/result.h"
#include "log/log_memory.h"
#include "model/note.h"
#include "model/told_functions.h"
#include "process/stopped_process.h"
#include "wire/architecture.h"
#include "wire/exit_handshake.h"

namespace heaptap::tracer {

struct TracerOptions {
  bool follow_fork = false;  // children are traced, too
  bool follow_exec = false;  // the program that one executes is traced, too
  bool no_cpp = false;
  bool scan_at_end = false;
  int report_signal = 0;  // counted in the log (wire::LogHeader), and no program ends by it; 0: none
  // Functions of static programs without symbols, of which another machine was asked. None: nobody was.
  std::optional<model::ToldFunctions> told = {};
};

// A process wants a log. Answer with give_log or refuse_log: it is stopped until then.
struct LogWanted {
  enum class Reason : uint32_t { kStart, kAttach, kFork, kExec };
  pid_t process = 0;
  pid_t parent = 0;
  Reason reason = Reason::kStart;
  wire::Architecture architecture = wire::Architecture::kUnknown;
  unsigned word_bytes = 0;
};
// It is being recorded from here on.
struct Attached {
  pid_t process = 0;
};
// It can't be traced; `text` names cause and cure. It runs as before.
struct NotAttached {
  pid_t process = 0;
  std::string text;
};
// The process comes to its end and waits: look at its memory (hold), then end_may_go_on.
struct Exiting {
  pid_t process = 0;
  wire::ExitNotice notice{};
};
// One of its threads asks for something by the functions of include/heaptap/heaptap.h, and waits. Answer it: it goes on then, and
// without an answer after a while.
struct Asked {
  enum class Kind : uint32_t { kReport, kScan };
  pid_t process = 0;
  pid_t thread = 0;
  Kind kind = Kind::kReport;
  uint64_t question = 0;  // which one this is
  std::string path;       // of a report
};
struct Answer {
  // Of a leak scan, in blocks and bytes each: definite, indirect, possible, reachable, unknown.
  using Counts = std::array<uint64_t, 10>;
  pid_t process = 0;
  uint64_t question = 0;
  int error = 0;  // an errno value; 0: it is done
  Counts counts{};
};
// No more events of this process: it ended, was detached, or executed what isn't traced.
struct Left {
  enum class Reason : uint32_t { kEnded, kDetached, kExecuted, kFailed };
  pid_t process = 0;
  Reason reason = Reason::kEnded;
  std::optional<int> wait_status;  // of one that ended
};
// For the trace of this process: what can't be seen, and why.
struct Noted {
  pid_t process = 0;
  model::Note note;
};
// The tracer itself is gone. Nothing comes any more.
struct TracerGone {
  int wait_status = 0;
};
using TracerMessage = std::variant<LogWanted, Attached, NotAttached, Exiting, Asked, Left, Noted, TracerGone>;

class TracerClient {
 public:
  // Makes the tracer's process: to be called while this one has a single thread.
  static base::Result<std::unique_ptr<TracerClient>> start(const TracerOptions& options);
  // Everything that is still traced is detached first; bounded.
  ~TracerClient();
  TracerClient(const TracerClient&) = delete;
  TracerClient& operator=(const TracerClient&) = delete;

  [[nodiscard]] pid_t process() const;
  // Readable when a message waits.
  [[nodiscard]] int descriptor() const;
  std::optional<TracerMessage> receive();

  // A child of ours that waits before it executes the program that is to be traced: returns once it may go on. The error
  // says why it can't be traced.
  base::Result<> attach_before_exec(pid_t process);
  // One that runs. LogWanted or NotAttached follows.
  void attach(pid_t process);
  void give_log(pid_t process, const log::LogMemory& log);
  void refuse_log(pid_t process);
  // Lets one go, as it was. Left follows.
  void detach(pid_t process);
  void detach_all();
  void end_may_go_on(pid_t process);
  void answer(const Answer& answer);

  // Stops all threads of a traced process. Messages that come meanwhile are kept for receive().
  base::Result<process::StoppedProcess> hold(pid_t process);

 private:
  struct State;
  explicit TracerClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::tracer
