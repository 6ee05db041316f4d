// Recording as used by the console and `top`: a live one, which can be controlled, or finished traces, which are read-only. Processes
// are identified by their PID; PID 0 means all of them in actions, and the first one in queries. One thread.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/query/analyze.h"
#include "analysis/report/report.h"
#include "common/base/result.h"
#include "common/control/control_messages.h"
#include "common/model/capture.h"
#include "common/model/event_source.h"
#include "common/model/mark.h"

namespace heaptap::client {

using control::Figures;
using control::News;
using control::Process;
using control::Settings;

// Selector of a program.
struct ProgramId {
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): a process alone means what it is now
  ProgramId(uint32_t of_process, uint32_t nth = 0) : pid(of_process), image(nth) {}
  uint32_t pid;    // 0: the first process
  uint32_t image;  // 0: the last one
};

// Lag of the live ledger behind the trace.
struct Freshness {
  uint64_t read_bytes = 0;     // of the trace, by the live ledger
  uint64_t written_bytes = 0;  // of the trace
  [[nodiscard]] bool is_behind() const { return read_bytes < written_bytes; }
};

enum class ScanKind : uint8_t {
  kAll,
  kNew,   // blocks allocated since the last scan
  kLost,  // blocks lost in the last scan
};

struct ScanResult {
  uint32_t number = 0;  // of the scan in the process's trace, from 1
  uint32_t since = 0;   // the scan it is compared with; 0: none
};

class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;

  // False: finished, or its connection is lost. All control actions then fail with an error.
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
  [[nodiscard]] virtual Freshness freshness(ProgramId program) = 0;
  // Trace file with all events recorded up to the call, for commands that read traces. Valid as long as this object.
  virtual base::Result<std::string> trace_file(ProgramId program) = 0;

  virtual base::Result<> start(uint32_t pid) = 0;
  virtual base::Result<> stop(uint32_t pid) = 0;
  virtual base::Result<> reset(uint32_t pid) = 0;
  // Returns the number of processes that were marked.
  virtual base::Result<size_t> mark(uint32_t pid, const std::string& name) = 0;
  virtual base::Result<ScanResult> scan(uint32_t pid, ScanKind kind) = 0;
  virtual base::Result<> set_depth(uint32_t depth) = 0;
  virtual base::Result<> detach(uint32_t pid) = 0;
  virtual base::Result<> kill(uint32_t pid, const std::string& signal) = 0;

  // Called whenever a signal interrupts a wait for an answer: true ends the wait, and the call fails.
  virtual void set_give_up(std::function<bool()> give_up) = 0;

  // Readable when there is news; -1: there never is any.
  [[nodiscard]] virtual int news_descriptor() const = 0;
  virtual std::vector<News> take_news() = 0;
};

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
