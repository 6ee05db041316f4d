#include "apps/heaptap/commands/gate.h"

#include <algorithm>

namespace heaptap::app {
namespace {

using report::ProcessEntry;

bool is_failure(const RunOptions& options, const ProcessEntry& process) {
  const report::Totals& totals = process.totals;
  const bool leaks = process.leaks.scanned && report::leaks_for_certain(process.leaks);
  base::Known<uint64_t> errors = totals.bad_releases;
  errors += totals.double_releases;
  errors += totals.mismatched_releases;
  return leaks || (options.sanity && errors.counted() != 0);
}

// Whether it may have unseen leaks. Memory from before an exec is not leaked.
bool is_unknown(const ProcessEntry& process) {
  if (!process.failure.empty() || !process.known.any || !process.known.children) return true;
  return process.leaks.scanned ? !process.known.leaks : !process.capture.executed;
}

}  // namespace

bool lacks_traces(std::span<const supervision::FinishedTrace> traces) {
  return traces.empty() ||
         std::ranges::any_of(traces, [](const supervision::FinishedTrace& trace) { return !trace.failure.empty(); });
}

Gate judge(const RunOptions& options, std::span<const supervision::FinishedTrace> traces,
           std::span<const report::ProcessEntry> processes) {
  const auto fails = [&options](const ProcessEntry& process) { return is_failure(options, process); };
  if (std::ranges::any_of(processes, fails)) return Gate::kFailed;
  if (lacks_traces(traces)) return Gate::kUnknown;
  return options.leak_scan && std::ranges::any_of(processes, is_unknown) ? Gate::kUnknown : Gate::kPassed;
}

}  // namespace heaptap::app
