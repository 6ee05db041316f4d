// `heaptap run` and `heaptap attach`: records a program that is started, processes that run, or both, and says at the end
// what was found.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sort_key.h"
#include "app/terminal.h"
#include "report/frame_text.h"

namespace heaptap::app {

struct RunOptions {
  std::vector<std::string> command;     // the program and its arguments
  std::vector<pid_t> processes;         // that run already; each once
  std::optional<uint64_t> duration_ns;  // then heaptap detaches

  // The trace.
  std::string output;  // empty: heaptap.<program>.<pid>.htap; %p pid, %h host name
  bool force = false;  // overwrite

  // What is recorded.
  uint32_t depth = 0;  // frames of a stack; 0: all
  bool follow_fork = false;
  bool follow_exec = false;
  std::string via;  // "agent", "ptrace", or empty: what is possible
  bool leak_scan = true;
  std::optional<uint64_t> mark_every_ns;  // marks of the name "every"
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

// With a command, or processes, or both. Returns heaptap's exit status.
int perform(const RunOptions& options);

}  // namespace heaptap::app
