#include "analysis/findings/comparison_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/findings/words.h"
#include "common/base/units.h"

namespace heaptap::findings {

std::string value_text(report::Figure figure, const std::optional<uint64_t>& value) {
  if (!value) return "unknown";
  return report::facts_of(figure).is_bytes ? base::format_bytes(*value) : base::format_count(*value);
}

std::string change_text(report::Figure figure, const std::optional<int64_t>& change) {
  if (!change) return "unknown";
  const uint64_t size = *change < 0 ? 0 - static_cast<uint64_t>(*change) : static_cast<uint64_t>(*change);
  const char* const sign = *change < 0 ? "-" : *change > 0 ? "+" : "";
  return fmt::format("{}{}", sign, value_text(figure, size));
}

std::string percent_text(const std::optional<int64_t>& change, const std::optional<uint64_t>& before) {
  if (!change || !before || *before == 0 || *change == 0) return "";
  constexpr double kLongestPercent = 1000;
  const double percent = 100.0 * static_cast<double>(*change) / static_cast<double>(*before);
  if (percent < kLongestPercent) return fmt::format("{:+.1f}%", percent);
  const double times = 1 + static_cast<double>(*change) / static_cast<double>(*before);
  return base::format_count(static_cast<uint64_t>(std::round(times))) + " times as much";
}

std::string label_of(const report::Comparison& comparison, size_t number) {
  if (comparison.recordings.size() == 2) return number == 0 ? "before" : "after";
  return fmt::format("{}", number + 1);
}

std::string libraries_text(report::Figure figure, std::span<const report::ComparedStack* const> stacks) {
  if (stacks.empty()) return "";
  std::optional<int64_t> of_blocks = 0;
  std::optional<int64_t> of_mappings = 0;
  std::set<std::string> purposes;
  for (const report::ComparedStack* stack : stacks) {
    std::optional<int64_t>& sum = stack->mapping ? of_mappings : of_blocks;
    const auto change = stack->change(figure);
    sum = sum && change ? std::optional(*sum + *change) : std::nullopt;
    purposes.insert(words_of(stack->purpose));
  }
  const std::string besides =
      of_mappings == 0 ? "" : fmt::format(" (besides {} with mmap)", change_text(figure, of_mappings));
  return fmt::format("{} {}{} in {} of system libraries: {}", change_text(figure, of_blocks),
                     report::facts_of(figure).word, besides, counted(stacks.size(), "stack"),
                     fmt::join(purposes, ", "));
}

std::vector<std::string> remarks_of(const report::Comparison& comparison) {
  std::vector<std::string> remarks;
  for (size_t number = 0; number < comparison.recordings.size(); ++number) {
    for (const std::string& doubt : doubts_of(comparison.recordings[number], true)) {
      remarks.push_back(label_of(comparison, number) + ": " + doubt);
    }
  }
  for (const std::string& module : comparison.unmatched_modules) {
    remarks.push_back(module +
                      " differs between the recordings and its functions have no names: stacks through it are shown as "
                      "gone and new; --symbols DIR names them");
  }
  return remarks;
}

std::vector<std::string> missing_of(const report::Recording& recording, bool leaks) {
  const report::Totals& totals = recording.report.totals;
  std::vector<std::string> missing;
  if (leaks && !recording.at_ns && !recording.report.leaks.scanned)
    missing.emplace_back("no leak scan: leaks are unknown");
  if (!totals.peak_live_bytes.is_known() || !totals.live_bytes.is_known() || !recording.report.has_events)
    missing.emplace_back("recorded with --aggregate, which doesn't keep the peak of each stack, among others");
  return missing;
}

std::vector<std::string> doubts_of(const report::Recording& recording, bool leaks) {
  const report::Report& report = recording.report;
  std::vector<std::string> doubts = missing_of(recording, leaks);
  if (report.capture.lost_events != 0)
    doubts.push_back(counted(report.capture.lost_events, "event") + " were lost: the numbers are not exact");
  if (const std::string sampling = sampling_sentence(report); !sampling.empty()) doubts.push_back(sampling);
  if (const std::string uncertainty = uncertainty_of(report); !uncertainty.empty()) doubts.push_back(uncertainty);
  if (!recording.at_ns && report.totals.peak_error_bytes != 0)
    doubts.push_back("the peak may be " + base::format_bytes(report.totals.peak_error_bytes) + " less or more");
  if (report.capture.truncated)
    doubts.push_back("the trace is cut off or damaged, only the part before that is compared: " +
                     report.capture.damage);
  if (!report.capture.from_start)
    doubts.emplace_back("the capture began while the program ran: earlier allocations are not in it");
  if (recording.at_ns && *recording.at_ns > report.end_ns())
    doubts.push_back("the trace ends before, after " + base::format_duration(report.end_ns()));
  // Before the first allocation there is nothing, even if other events come.
  const bool is_narrowed = report.unmatched && (report.unmatched->by_name || report.unmatched->by_thread);
  if (is_narrowed) doubts.emplace_back("nothing matches the filter");
  return doubts;
}

}  // namespace heaptap::findings
