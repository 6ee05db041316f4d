// `heaptap run` and `heaptap attach`: records a program that is started, processes that run, or both, and says at the end
// what was found.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ignores.h"
#include "analysis/sort_key.h"
#include "app/color_mode.h"
#include "app/machine_options.h"
#include "remote/compression.h"
#include "report/frame_text.h"

namespace heaptap::app {

class SymbolsServer;

struct RunOptions {
  std::vector<std::string> command;     // the program and its arguments
  std::vector<pid_t> processes;         // that run already; each once
  std::optional<uint64_t> duration_ns;  // then heaptap detaches

  MachineOptions machine;

  // The trace.
  std::string output;         // empty: heaptap.<program>.<pid>.htap; %p pid, %h host name
  bool force = false;         // overwrite
  bool number_files = false;  // beside a file that is there: the next number behind the name

  // What is recorded.
  uint32_t depth = 0;  // frames of a stack; 0: all
  bool follow_fork = false;
  bool follow_exec = false;
  std::string via;  // "agent", "ptrace", or empty: what is possible
  bool leak_scan = true;
  std::optional<uint64_t> mark_every_ns;  // marks of the name "every"
  int report_signal = 0;                  // asks the program for a report; 0: none
  std::string report_format = "memlog";   // of reports while it records
  std::vector<std::string> omit;          // objects whose calls are no events
  bool no_cpp = false;                    // malloc under operator new is the event
  bool sanity = false;                    // list mismatched and bad releases
  bool aggregate = false;                 // totals in the target, no event log
  uint64_t aggregate_memory_bytes = 16u << 20;
  bool drop_on_overflow = false;  // else wait
  uint64_t log_memory_bytes = 0;  // 0: by default

  // The program's environment.
  std::string user;
  std::vector<std::string> environment;  // VAR=VALUE

  // Names.
  std::vector<std::string> symbols;
  std::vector<std::string> sysroots;
  bool debuginfod = false;
  bool no_fetch = false;                                         // from another machine
  remote::Compression compression = remote::Compression::kAuto;  // on the way from there
  uint64_t fetch_limit_bytes = uint64_t{64} << 20;               // of one file
  std::shared_ptr<SymbolsServer> symbols_server;                 // null: there is none

  // What is said at the end.
  std::vector<std::string> suppressions;
  std::optional<int> error_exitcode;
  analysis::SortKey sort = analysis::SortKey::kUsage;
  size_t count = 0;  // 0: by default
  std::vector<std::string> skip;
  analysis::Ignores ignores;  // stacks that are counted and not listed at the end
  report::FrameTextOptions frames;
  bool quiet = false;
  bool verbose = false;
  bool json = false;      // on stderr, in place of the text
  std::string json_file;  // besides the text; empty: none
  ColorMode color = ColorMode::kAuto;
};

// `heaptap --collect PID`, which is started by an agent in a program that heaptap didn't start: records that one.
struct CollectOptions {
  RunOptions recording;
  pid_t process = 0;    // that waits for its log
  std::string session;  // of agents, see wire::kSessionVariable
};

// The file that says what else would be said on stderr: the trace's name, and .log. Empty: no trace was named.
std::string collectors_log(const std::vector<std::string>& arguments);
int perform(const CollectOptions& options);

// A time of the options.
inline std::chrono::nanoseconds nanoseconds(uint64_t count) { return std::chrono::nanoseconds(count); }

// With a command, or processes, or both. Returns heaptap's exit status.
int perform(const RunOptions& options);

}  // namespace heaptap::app
