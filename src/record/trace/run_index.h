// Index of a recording of several processes: a text file that lists its traces, beside them.
//
//   heaptap-run 1
//   PID PARENT-PID TRACE PROGRAM IMAGE    one trace per line, the main program's first; later versions may add words
//
// IMAGE counts the programs executed in turn by one process, from 1. If it is missing, an earlier version wrote the
// index: then the last program comes first. TRACE is a path, relative to the index. In both names, characters other
// than visible ASCII, and %, are %XX.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace heaptap::trace {

struct RunEntry {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  std::string trace;
  std::string program;
  uint32_t image = 1;
  bool operator==(const RunEntry&) const = default;
};

std::string encode_run_index(const std::vector<RunEntry>& entries);
base::Result<std::vector<RunEntry>> decode_run_index(std::string_view text);

// The last program executed by a process; null: no such process.
const RunEntry* last_program_of(const std::vector<RunEntry>& entries, uint32_t pid);
// Whether all are programs executed in turn by one process.
bool is_one_process(const std::vector<RunEntry>& entries);

// Whether the file begins like an index; false if unreadable.
bool is_run_index(const std::string& path);
// At least one entry; with paths of traces relative to the working directory.
base::Result<std::vector<RunEntry>> read_run_index(const std::string& path);

}  // namespace heaptap::trace
