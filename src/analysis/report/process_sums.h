// Sums over the processes of a recording.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::report {

struct ProcessSums {
  uint64_t failed = 0;     // traces that can't be read
  uint64_t unscanned = 0;  // with unknown leaks; without those that executed another program
  uint64_t uncertain = 0;  // with a scan, but possibly more leaks than it found
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  BlockCount lost_in_pools;  // within the live blocks
  BlockCount definite;
  BlockCount indirect;
  BlockCount possible;
  uint64_t bad_releases = 0;
  uint64_t double_releases = 0;
  uint64_t mismatched_releases = 0;
  uint64_t lost_events = 0;
  std::optional<uint64_t> largest_peak = 0;  // of any process; empty if one is unknown
  uint64_t largest_peak_error = 0;           // bytes: it is that much lower or higher at most
  const ProcessEntry* largest = nullptr;     // the first with the largest known peak; null: none is known

  [[nodiscard]] uint64_t errors() const { return bad_releases + double_releases + mismatched_releases; }
};

// The processes outlive the result.
ProcessSums sum_of(const std::vector<ProcessEntry>& processes);

// The peak of live bytes; of several processes the largest of one, counted if a larger one may be unknown. Stacks' peak_bytes are
// parts of it.
base::Known<uint64_t> peak_of(const Report& report);
// That peak is so much lower or higher at most; of several processes, the largest error of one.
uint64_t peak_error_of(const Report& report);
// The process whose peak that is; null: not a report of several, or none is known.
const ProcessEntry* peak_process_of(const Report& report);

// A report as the entry of its process. Without suppressions, which all processes share and which may be long: the report has them.
ProcessEntry entry_of(const Report& report);

// Ordered by leaks, then by peak; those that executed another program last.
std::vector<const ProcessEntry*> largest_first(std::span<const ProcessEntry> processes);

// The process whose leaks a run is about, if that isn't the first one: the one that loses most for certain, where the first one's leaks
// don't lead. Null: none.
const ProcessEntry* leaking_of_run(std::span<const ProcessEntry> processes);

// The process that a run is about, if that isn't the first one: its memory, of blocks and mapped, is at least twice the first one's, and
// there is nothing more important: no leaks that weigh against it, no bad releases. Null: none.
const ProcessEntry* largest_of_run(std::span<const ProcessEntry> processes);

// Whether more memory was mapped at one time than blocks had at their peak; false where the kinds are unknown.
bool mapped_leads(const Totals& totals, uint64_t peak_live_bytes);

// The process that mapped most at its peak, if that isn't the first one, and more than any process had in blocks. Null: none.
const ProcessEntry* mapper_of_run(std::span<const ProcessEntry> processes);

// Processes of one program, by the file's name.
struct ProgramEntry {
  std::string program;
  std::vector<ProcessEntry> processes;
};
// Ordered by leaks, then by the largest peak.
std::vector<ProgramEntry> programs_of(std::span<const ProcessEntry> processes);

}  // namespace heaptap::report
