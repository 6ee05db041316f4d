// Verdict of --error-exitcode on the processes of a recording.
#pragma once
#include <cstdint>
#include <span>

#include "analysis/report/report.h"
#include "apps/heaptap/commands/run_command.h"
#include "capture/supervision/recorded_processes.h"

namespace heaptap::app {

// Result for --error-exitcode.
enum class Gate : uint8_t {
  kPassed,
  kFailed,   // a process has leaks or, if requested, errors
  kUnknown,  // none found, but not everything was seen
};

// Whether traces are missing or incomplete, so that what the program did isn't known: none was made, or one couldn't be
// written.
bool lacks_traces(std::span<const supervision::FinishedTrace> traces);

// `processes`: those whose traces were read.
Gate judge(const RunOptions& options, std::span<const supervision::FinishedTrace> traces,
           std::span<const report::ProcessEntry> processes);

}  // namespace heaptap::app
