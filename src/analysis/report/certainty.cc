#include "analysis/report/certainty.h"

#include <fmt/format.h>

#include "analysis/report/process_sums.h"
#include "common/base/units.h"

namespace heaptap::report {

const char* name_of(LimitKind kind) {
  switch (kind) {
    case LimitKind::kLeaked:
      return "leaked";
    case LimitKind::kPeak:
      return "peak";
    case LimitKind::kLive:
      return "live";
    case LimitKind::kAllocations:
      break;
  }
  return "allocations";
}

const char* name_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::kExact:
      return "exact";
    case Certainty::kAtLeast:
      return "at least";
    case Certainty::kUnknown:
    case Certainty::kNone:
      break;
  }
  return "unknown";
}

std::string figure_text(LimitKind kind, uint64_t figure) {
  if (kind == LimitKind::kAllocations) return base::format_count(figure);
  const std::string text = base::format_bytes(figure);
  return figure < 1024 ? text : fmt::format("{} ({} bytes)", text, base::format_count(figure));
}

Certainty certainty_of(const Report& report, LimitKind kind, bool is_early_scan) {
  using enum Certainty;
  const bool has_gaps = !report.known.saw_all || !report.capture.from_start;
  // Without this, figures are lower bounds.
  const bool may_be_less = !report.known.follows || !report.capture.from_start;
  if (!report.known.any && !report.of_run) return kNone;
  if (report.capture.sample_interval != 0) return kind == LimitKind::kLeaked ? kNone : kUnknown;
  // Figures of unrecorded children are missing.
  const bool is_cut = report.capture.truncated || !report.capture.ended || !report.known.children;
  switch (kind) {
    case LimitKind::kLeaked:
      if (!report.leaks.scanned) return kNone;
      if (report.leaks.unknown.blocks != 0 || is_early_scan) return kAtLeast;
      if (report.of_run && sum_of(report.processes).unscanned != 0) return kAtLeast;
      return has_gaps || is_cut ? kAtLeast : kExact;
    case LimitKind::kPeak:
      if (report.of_run ? !sum_of(report.processes).largest_peak : !report.totals.peak_live_bytes.is_known())
        return kNone;
      // massif's snapshots may miss a higher peak between them.
      if (may_be_less) return kUnknown;
      return has_gaps || is_cut || !report.totals.allocations.is_known() ? kAtLeast : kExact;
    case LimitKind::kLive:
      if (!report.totals.live_bytes.is_known()) return kNone;
      if (may_be_less || is_cut) return kUnknown;
      return has_gaps ? kAtLeast : kExact;
    case LimitKind::kAllocations:
      break;
  }
  if (!report.totals.allocations.is_known()) return kNone;
  return has_gaps || is_cut ? kAtLeast : kExact;
}

bool has_early_scan(const Report& report) {
  return report.leaks.scanned && !report.leaks.scan.at_end && !report.capture.detached;
}

}  // namespace heaptap::report
