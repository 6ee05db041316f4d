// `heaptap run` and `heaptap attach`: recording of a started program, of running processes, or both, with a summary at the end.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/query/ignores.h"
#include "analysis/query/sort_key.h"
#include "apps/heaptap/options/color_mode.h"
#include "apps/heaptap/options/machine_options.h"
#include "apps/heaptap/options/push_options.h"
#include "common/line/compression.h"
#include "common/wire/release_stacks.h"
#include "record/recordings/ring_options.h"

namespace heaptap::app {

class SymbolsServer;

struct RunOptions {
  std::vector<std::string> command;     // the program and its arguments
  std::vector<pid_t> processes;         // running ones; each once
  std::optional<uint64_t> duration_ns;  // heaptap detaches after it

  MachineOptions machine;

  // Trace file.
  std::string output;         // empty: heaptap.<program>.<pid>.htap; %p pid, %h host name
  bool force = false;         // overwrite
  bool number_files = false;  // if the file exists: append the next free number

  // Capture.
  uint32_t depth = 0;  // frames per stack; 0: all
  bool follow_fork = false;
  bool follow_exec = false;
  std::string via;  // "agent", "ptrace"; empty: automatic
  bool leak_scan = true;
  std::optional<uint64_t> mark_every_ns;  // named "every"
  int report_signal = 0;                  // requests a report; 0: none
  recordings::RingOptions ring;           // the last events in memory, in place of a trace's file
  std::string report_format = "memlog";   // of reports during the recording
  std::vector<std::string> omit;          // objects whose calls are not recorded
  bool python = false;                    // frames of Python in stacks
  bool no_cpp = false;                    // record malloc under operator new
  bool sanity = false;                    // list mismatched and bad releases
  bool aggregate = false;                 // totals in the target, no event log
  uint64_t aggregate_memory_bytes = 16u << 20;
  uint64_t sample_interval = 0;                       // bytes; 0: all blocks are recorded
  std::optional<wire::ReleaseStacks> release_stacks;  // empty: full with `sanity`, else the usual
  bool drop_on_overflow = false;                      // else wait
  uint64_t log_memory_bytes = 0;                      // 0: the default
  unsigned collector_threads = 0;                     // likewise, see collector_threads.h

  // Environment of the program.
  std::string user;
  std::vector<std::string> environment;  // VAR=VALUE

  // Symbols.
  std::vector<std::string> symbols;
  std::vector<std::string> sysroots;
  bool debuginfod = false;
  bool no_fetch = false;                                     // from another machine
  line::Compression compression = line::Compression::kAuto;  // of the connection
  uint64_t fetch_limit_bytes = uint64_t{64} << 20;           // per file
  std::shared_ptr<SymbolsServer> symbols_server;             // null: none

  PushOptions push;

  // Summary at the end.
  std::vector<std::string> suppressions;
  std::optional<int> error_exitcode;
  std::optional<query::SortKey> sort;  // empty: by the report's focus
  size_t count = 0;                    // 0: the default
  std::vector<std::string> skip;
  query::Ignores ignores;  // stacks counted but not listed at the end
  findings::FrameTextOptions frames;
  bool quiet = false;
  bool verbose = false;
  bool json = false;      // on stderr, instead of text
  std::string json_file;  // in addition to text; empty: none
  ColorMode color = ColorMode::kAuto;

  [[nodiscard]] wire::ReleaseStacks kept_release_stacks() const {
    return release_stacks.value_or(sanity ? wire::ReleaseStacks::kFull : wire::kUsualReleaseStacks);
  }
};

// `heaptap --collect PID`: recorder started by an agent in a program that heaptap didn't start.
struct CollectOptions {
  RunOptions recording;
  pid_t process = 0;    // waiting for its log
  std::string session;  // of the agents, see wire::kSessionVariable
};

// Log file that replaces stderr: the trace's name plus ".log". Empty: no trace was named.
std::string collectors_log(const std::vector<std::string>& arguments);
int perform(const CollectOptions& options);

// Duration from an option.
inline std::chrono::nanoseconds nanoseconds(uint64_t count) { return std::chrono::nanoseconds(count); }

// Records a command, processes, or both. Returns heaptap's exit status.
int perform(const RunOptions& options);

}  // namespace heaptap::app
