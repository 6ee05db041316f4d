// What the processes of a recording did together.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/report.h"

namespace heaptap::report {

struct ProcessSums {
  uint64_t failed = 0;     // that couldn't be read
  uint64_t unscanned = 0;  // whose leaks aren't known, but for those that became another program
  uint64_t uncertain = 0;  // that had a scan, but may leak more than it found
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  BlockCount lost_in_pools;  // within what is counted as live
  BlockCount definite;
  BlockCount indirect;
  BlockCount possible;
  uint64_t bad_releases = 0;
  uint64_t double_releases = 0;
  uint64_t mismatched_releases = 0;
  uint64_t lost_events = 0;
  std::optional<uint64_t> largest_peak = 0;  // of one of them; empty where one's isn't known

  [[nodiscard]] uint64_t errors() const { return bad_releases + double_releases + mismatched_releases; }
};

ProcessSums sum_of(const std::vector<ProcessEntry>& processes);

// A report as one of the processes of a recording. The suppressions are all processes' and may be long: the report itself has
// them.
ProcessEntry entry_of(const Report& report);

// What leaks most first, then what was largest; what became another program last.
std::vector<const ProcessEntry*> largest_first(std::span<const ProcessEntry> processes);

// The processes that were one program, by the file's name.
struct ProgramEntry {
  std::string program;
  std::vector<ProcessEntry> processes;
};
// What leaks most first, then what has the largest peak.
std::vector<ProgramEntry> programs_of(std::span<const ProcessEntry> processes);

}  // namespace heaptap::report
