#include "analysis/findings/sampling_text.h"

#include <fmt/format.h>

#include "analysis/findings/amount_text.h"
#include "analysis/report/sample_bounds.h"
#include "common/base/units.h"

namespace heaptap::findings {

std::string bounds_text(uint64_t estimated_bytes, uint64_t interval) {
  if (interval == 0) return {};
  const report::Bounds bounds = report::bounds_of(estimated_bytes, interval);
  return fmt::format(" ({} to {})", base::format_bytes(bounds.low), base::format_bytes(bounds.high));
}

std::string sampling_sentence(const report::Report& report) {
  const uint64_t interval = report.capture.sample_interval;
  if (interval == 0) return {};
  return fmt::format(
      "sampled: of {} allocated, one block was recorded on average; figures of blocks are estimates, bounds in "
      "brackets "
      "hold with {:.0f} % confidence, and what no sample fell on (up to {} each) isn't listed",
      base::format_bytes(interval), 100 * report::kSampleConfidence,
      base::format_bytes(report::bounds_of(0, interval).high));
}

std::string counted_calls_text(const report::Report& report) {
  if (report.capture.calls.empty() || !report.filter.empty() || report.window) return {};
  model::ThreadCalls sum;
  for (const model::ThreadCalls& calls : report.capture.calls) {
    sum.allocations += calls.allocations;
    sum.allocated_bytes += calls.allocated_bytes;
    sum.releases += calls.releases;
  }
  // Of threads that got no place in the log nothing is counted.
  const char* const limit = report.capture.lost_events != 0 ? "at least " : "";
  return fmt::format("{}{} of {}, {}", limit, counted(sum.allocations, "allocation"),
                     base::format_bytes(sum.allocated_bytes), counted(sum.releases, "release"));
}

}  // namespace heaptap::findings
