// A recording as the console and `top` see it: one that goes on, which can be steered, or traces of the past, which can only
// be looked at. Processes are named by their pid; a pid of 0 means all of them where something is done, and the first one
// where something is asked. One thread.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "base/result.h"
#include "model/capture.h"
#include "model/event_source.h"
#include "model/mark.h"
#include "report/report.h"

namespace heaptap::live {

// A program of a recorded process. A process that executed others has several, one after the other: its images.
struct Process {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t image = 1;   // counts the programs of one process, from 1
  std::string program;  // as it was started
  std::string via;      // "agent" or "ptrace"
  std::string trace;    // the file's name where it was made
  bool runs = false;    // and is recorded
  bool is_on = true;    // false: recording is switched off
  bool executed = false;
  bool detached = false;
  model::ExitStatus exit;  // of one that has ended, where it is known
};

// Which of them is meant.
struct ProgramId {
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): a process alone means what it is now
  ProgramId(uint32_t of_process, uint32_t nth = 0) : pid(of_process), image(nth) {}
  uint32_t pid;    // 0: the first process
  uint32_t image;  // 0: the last one
};

// What capturing a process costs, and how far it is.
struct Figures {
  uint32_t pid = 0;
  uint64_t time_ns = 0;  // since the start of its capture
  uint64_t events = 0;
  uint64_t lost_events = 0;
  uint64_t log_used_bytes = 0;
  uint64_t log_limit_bytes = 0;
  uint64_t trace_bytes = 0;
  std::optional<uint64_t> resident_bytes;  // of the process
  std::optional<uint64_t> target_cpu_ns;   // that it has used
  uint64_t collector_cpu_ns = 0;           // of heaptap, for all processes
  std::optional<uint64_t> stops;           // by ptrace: how often the process was stopped
  bool is_on = true;
  uint32_t marks = 0;
  uint32_t scans = 0;
};

// How far what is shown is behind what is recorded.
struct Freshness {
  uint64_t read_bytes = 0;     // of the trace, by the live ledger
  uint64_t written_bytes = 0;  // of the trace
  [[nodiscard]] bool is_behind() const { return read_bytes < written_bytes; }
};

// Settings that hold for the whole recording.
struct Settings {
  uint32_t collector_pid = 0;
  std::string heaptap_version;
  std::string via;
  uint32_t depth = 0;  // frames a stack keeps; 0: all
  bool follows_fork = false;
  bool follows_exec = false;
  bool scans_at_end = false;
  bool drops_on_overflow = false;
  std::vector<std::string> command;
};

enum class ScanKind : uint8_t {
  kAll,
  kNew,   // blocks that were allocated since the last scan
  kLost,  // blocks that were lost in the last scan
};

struct ScanResult {
  uint32_t number = 0;  // of the scan in the process's trace, from 1 on
  uint32_t since = 0;   // the scan that it is compared with; 0: none
};

// What happened by itself.
struct News {
  enum class Kind : uint8_t {
    kBegan,     // a process is recorded from now on; `parent_pid`
    kExecuted,  // it goes on as another program; `text`
    kEnded,     // `exit`
    kDetached,
    kScanned,     // `number`: of the scan; by whomever it was asked for
    kMarked,      // `number`, `text`: its name
    kSwitchedOn,  // recording
    kSwitchedOff,
    kConnectionLost,  // the recording has ended, or the heaptap that makes it; `text`: why, where it is known
  };
  Kind kind = Kind::kConnectionLost;
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t number = 0;
  model::ExitStatus exit;
  std::string text;
};

class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;

  // False: of the past, or its connection is lost. All that steers fails then, and says so.
  [[nodiscard]] virtual bool is_live() const = 0;
  // The pid of the main program, or the trace's name: for a prompt and titles.
  [[nodiscard]] virtual std::string name() const = 0;

  virtual base::Result<std::vector<Process>> processes() = 0;
  virtual base::Result<Figures> figures(uint32_t pid) = 0;
  virtual base::Result<Settings> settings() = 0;
  virtual base::Result<std::vector<model::Mark>> marks(uint32_t pid) = 0;

  // Of everything that was recorded up to the call. A query for the plain ledger (no filter, no window) is answered from one
  // that has counted along; others read the trace from its beginning.
  virtual base::Result<report::Report> report(ProgramId program, const analysis::Query& query) = 0;
  // Of what the live ledger has counted by now, which may be a second old: asks nobody and waits for nothing.
  virtual base::Result<report::Report> glance(ProgramId program, const analysis::Query& query) = 0;
  [[nodiscard]] virtual Freshness freshness(ProgramId program) = 0;
  // A file that commands for traces can read, of everything that was recorded up to the call. Valid as long as this object.
  virtual base::Result<std::string> trace_file(ProgramId program) = 0;

  virtual base::Result<> start(uint32_t pid) = 0;
  virtual base::Result<> stop(uint32_t pid) = 0;
  virtual base::Result<> reset(uint32_t pid) = 0;
  virtual base::Result<> mark(uint32_t pid, const std::string& name) = 0;
  virtual base::Result<ScanResult> scan(uint32_t pid, ScanKind kind) = 0;
  virtual base::Result<> set_depth(uint32_t depth) = 0;
  virtual base::Result<> detach(uint32_t pid) = 0;
  virtual base::Result<> kill(uint32_t pid, const std::string& signal) = 0;

  // Asked whenever a signal interrupts a wait for an answer: true ends the wait, and what waits for it fails.
  virtual void set_give_up(std::function<bool()> give_up) = 0;

  // Readable when there are news; -1: there never are any.
  [[nodiscard]] virtual int news_descriptor() const = 0;
  virtual std::vector<News> take_news() = 0;
};

// A trace, or the index of several that were recorded together; `open` opens one of them.
using TraceOpener = std::function<base::Result<std::unique_ptr<model::EventSource>>(const std::string& path)>;
using TraceAnalyzer = std::function<base::Result<report::Report>(model::EventSource&, const analysis::Query&)>;
base::Result<std::unique_ptr<Recording>> open_past(const std::string& trace, TraceOpener open, TraceAnalyzer analyze);

// The recording that a process belongs to; `machine`: where it runs, as its recording names it, empty: here.
base::Result<std::unique_ptr<Recording>> connect_to_process(uint32_t pid, const std::string& machine = {});
// The recording whose socket this is.
base::Result<std::unique_ptr<Recording>> connect_to_socket(const std::string& path);

// A recording of this user that goes on.
struct Offer {
  uint32_t pid = 0;  // of a recorded process
  std::string program;
  std::string machine;  // that it runs on; empty: this one
};
std::vector<Offer> recordings_of_this_user();
// Of these, those that run on a machine.
std::vector<Offer> recordings_of_machine(const std::string& machine);

}  // namespace heaptap::live
