// Recording as used by the console and `top`: a live one, which can be controlled, or finished traces, which are read-only. Processes
// are identified by their PID; PID 0 means all of them in actions, and the first one in queries. One thread.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/query/analyze.h"
#include "analysis/report/report.h"
#include "common/base/result.h"
#include "common/control/control_messages.h"
#include "common/model/capture.h"
#include "common/model/event_source.h"
#include "common/model/mark.h"
#include "views/client/live_control.h"
#include "views/client/program_id.h"

namespace heaptap::client {

using control::Figures;
using control::Process;
using control::Settings;

class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;

  // False: finished, or its connection is lost: then all actions of its control fail.
  [[nodiscard]] virtual bool is_live() const = 0;
  // The main program's PID, or the trace's name: for prompts and titles.
  [[nodiscard]] virtual std::string name() const = 0;

  virtual base::Result<std::vector<Process>> processes() = 0;
  virtual base::Result<Figures> figures(uint32_t pid) = 0;
  virtual base::Result<Settings> settings() = 0;
  virtual base::Result<std::vector<model::Mark>> marks(uint32_t pid) = 0;

  // Report of all events recorded up to the call. A query for the plain ledger (no filter, no window) is answered by the live ledger;
  // others read the trace from its beginning.
  virtual base::Result<report::Report> report(ProgramId program, const query::Query& query) = 0;
  // Report of what the live ledger has counted so far, possibly a second old: sends no request and doesn't wait.
  virtual base::Result<report::Report> glance(ProgramId program, const query::Query& query) = 0;
  // Trace file with all events recorded up to the call, for commands that read traces. Valid as long as this object.
  virtual base::Result<std::string> trace_file(ProgramId program) = 0;

  // Null: it is finished.
  [[nodiscard]] virtual LiveControl* control() = 0;
};

// The error, with the name of the command that needs it: the recording is finished.
base::Result<LiveControl*> control_of(Recording& recording, std::string_view command);

// Trace, or index of several recorded together; `open` opens one of them.
using TraceOpener = std::function<base::Result<std::unique_ptr<model::EventSource>>(const std::string& path)>;
using TraceAnalyzer = std::function<base::Result<report::Report>(model::EventSource&, const query::Query&)>;
base::Result<std::unique_ptr<Recording>> open_past(const std::string& trace, TraceOpener open, TraceAnalyzer analyze);

// Connects to a process's recording. `machine`: where the process runs, as named by its recording; empty: this machine.
base::Result<std::unique_ptr<Recording>> connect_to_process(uint32_t pid, const std::string& machine = {});
// Connects to a recording of heaptap `recorder`, of whichever process. Other recorders are not asked: they may be stopped.
base::Result<std::unique_ptr<Recording>> connect_to_recording_of(pid_t recorder);
// Connects to a recording by its socket.
base::Result<std::unique_ptr<Recording>> connect_to_socket(const std::string& path);

// Live recording of this user.
struct Offer {
  uint32_t pid = 0;  // of a recorded process
  std::string program;
  std::string machine;  // where it runs; empty: this machine
  pid_t recorder = 0;   // 0: in another PID namespace, or it accepts no further connections
  bool answers = true;  // false: its recorder didn't answer in time; the program of another machine is unknown
};
std::vector<Offer> recordings_of_this_user();
// Those that run on a machine.
std::vector<Offer> recordings_of_machine(const std::string& machine);

}  // namespace heaptap::client
