// The index of a recording of several processes: which traces it is made of. A text file beside them.
//
//   heaptap-run 1
//   PID PARENT-PID TRACE PROGRAM IMAGE    a line a trace, the main program's first; a later version may add words
//
// IMAGE counts the programs that one process executed one after the other, from 1. Where it is missing, an earlier version wrote the
// index: then the last one comes first.
// TRACE is a path, relative to the index. In both names, what is no visible ASCII character, and %, is %XX.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

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

// The program that a process became last; null: there is no such process.
const RunEntry* last_program_of(const std::vector<RunEntry>& entries, uint32_t pid);
// Whether they are the programs that one process executed one after the other.
bool is_one_process(const std::vector<RunEntry>& entries);

// Whether a file begins as one; false where it can't be read.
bool is_run_index(const std::string& path);
// At least one entry; their traces as paths from the working directory.
base::Result<std::vector<RunEntry>> read_run_index(const std::string& path);

}  // namespace heaptap::trace
