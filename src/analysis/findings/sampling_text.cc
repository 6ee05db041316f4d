#include "analysis/findings/sampling_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/amount_text.h"
#include "analysis/report/sample_bounds.h"
#include "common/base/units.h"

namespace heaptap::findings {

namespace {

std::string text_of(const report::Bounds& bounds) {
  return fmt::format("{} to {}", base::format_bytes(bounds.low), base::format_bytes(bounds.high));
}

}  // namespace

std::string bounds_text(uint64_t estimated_bytes, uint64_t interval) {
  return interval == 0 ? "" : text_of(report::bounds_of(estimated_bytes, interval));
}

std::string peak_bounds_text(uint64_t estimated_bytes, const report::Totals& totals) {
  if (totals.sample_interval == 0) return {};
  const auto peak = static_cast<double>(std::max<uint64_t>(totals.peak_live_bytes.counted(), 1));
  const double turns = static_cast<double>(totals.allocated_bytes.counted()) / peak;
  const auto allocated = static_cast<uint64_t>(std::min(turns * static_cast<double>(estimated_bytes), 1e18));
  return text_of(report::bounds_of_peak(estimated_bytes, allocated, totals.sample_interval));
}

std::string bounds_behind(const std::string& bounds) { return bounds.empty() ? "" : " (" + bounds + ")"; }

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
  for (const model::ThreadCalls& calls : report.capture.calls) sum.add(calls);
  // Of threads that got no place in the log nothing is counted.
  const char* const limit = report.capture.lost_events != 0 ? "at least " : "";
  return fmt::format("{}{} of {}, {}", limit, counted(sum.allocations, "allocation"),
                     base::format_bytes(sum.allocated_bytes), counted(sum.releases, "release"));
}

}  // namespace heaptap::findings
