#include "analysis/findings/growth_verdict.h"

#include <algorithm>
#include <functional>

namespace heaptap::findings {
namespace {

// In whole bytes, rounded down: half a byte more exceeds the limit.
uint64_t limit_of(const report::GrowthLimit& limit, const std::optional<uint64_t>& before) {
  if (!limit.percent) return limit.most;
  const double most = static_cast<double>(before.value_or(0)) * *limit.percent / 100;
  constexpr double kEnd = 18446744073709551616.0;  // 2^64
  return most < kEnd ? static_cast<uint64_t>(most) : ~uint64_t{0};
}

// The stacks that grew most.
std::vector<const report::ComparedStack*> grown_stacks(const report::Comparison& comparison, report::Figure figure) {
  std::vector<const report::ComparedStack*> grown;
  for (const report::ComparedStack& stack : comparison.stacks) {
    if (!stack.mapping && stack.change(figure).value_or(0) > 0) grown.push_back(&stack);
  }
  std::ranges::stable_sort(grown, std::greater<>(),
                           [figure](const report::ComparedStack* stack) { return *stack->change(figure); });
  return grown;
}

// Whether no stack can have grown unseen.
bool is_known_of_all(const report::Comparison& comparison, report::Figure figure) {
  return std::ranges::all_of(comparison.stacks, [figure](const report::ComparedStack& stack) {
    return stack.mapping || stack.change(figure).has_value();
  });
}

bool is_beyond(const report::GrowthLimit& limit, uint64_t before, uint64_t after) {
  return after > before && after - before > limit_of(limit, before);
}

// Whether the two peaks, each as far off as it may be, decide alike: least and most growth.
bool is_sure_of_peaks(const report::Comparison& comparison, const report::GrowthLimit& limit, uint64_t before,
                      uint64_t after) {
  const uint64_t error_before = comparison.recordings.front().report.totals.peak_error_bytes;
  const uint64_t error_after = comparison.recordings.back().report.totals.peak_error_bytes;
  const auto lowered = [](uint64_t peak, uint64_t error) { return peak - std::min(peak, error); };
  return is_beyond(limit, before + error_before, lowered(after, error_after)) ==
         is_beyond(limit, lowered(before, error_before), after + error_after);
}

}  // namespace

report::Figure figure_of(report::LimitKind kind) {
  switch (kind) {
    case report::LimitKind::kLeaked:
      return report::Figure::kLeakedBytes;
    case report::LimitKind::kPeak:
      return report::Figure::kPeakBytes;
    case report::LimitKind::kLive:
      return report::Figure::kLiveBytes;
    case report::LimitKind::kAllocations:
      break;
  }
  return report::Figure::kAllocations;
}

bool GrowthEntry::broken() const {
  const bool counts =
      certainty == report::Certainty::kExact || certainty == report::Certainty::kAtLeast || allow_incomplete;
  return counts && certainty != report::Certainty::kNone && growth > 0 && static_cast<uint64_t>(growth) > most;
}

report::Certainty growth_certainty(report::Certainty before, report::Certainty after) {
  if (before == report::Certainty::kNone || after == report::Certainty::kNone) return report::Certainty::kNone;
  if (before != report::Certainty::kExact) return report::Certainty::kUnknown;
  return after;
}

GrowthEntry judge_growth(const report::Comparison& comparison, const report::GrowthLimit& limit,
                         report::Certainty certainty, bool allow_incomplete, size_t stacks) {
  const report::Figure figure = figure_of(limit.kind);
  GrowthEntry entry{.limit = limit,
                    .before = comparison.recordings.front().totals[figure],
                    .after = comparison.recordings.back().totals[figure],
                    .stacks = {},
                    .frames = {},
                    .certainty = certainty,
                    .allow_incomplete = allow_incomplete};
  entry.most = limit_of(limit, entry.before);
  const auto change = comparison.change(figure);
  if (!change) entry.certainty = report::Certainty::kNone;
  const std::vector<const report::ComparedStack*> grown = grown_stacks(comparison, figure);
  if (limit.each_stack) {
    if (!is_known_of_all(comparison, figure)) entry.certainty = report::Certainty::kNone;
    entry.growth = grown.empty() ? 0 : *grown.front()->change(figure);
    // Stacks that couldn't be matched look as if they were new.
    const bool is_doubtful = !comparison.unmatched_modules.empty() && entry.certainty != report::Certainty::kNone;
    if (is_doubtful) entry.certainty = report::Certainty::kUnknown;
  } else {
    entry.growth = change.value_or(0);
    const bool is_of_peaks = figure == report::Figure::kPeakBytes && entry.certainty != report::Certainty::kNone;
    if (is_of_peaks && !is_sure_of_peaks(comparison, limit, *entry.before, *entry.after))
      entry.certainty = report::Certainty::kUnknown;
  }
  if (!entry.broken()) return entry;
  for (size_t i = 0; i < std::min(stacks, grown.size()); ++i) {
    const bool is_within = static_cast<uint64_t>(*grown[i]->change(figure)) <= entry.most;
    if (limit.each_stack && is_within) break;
    entry.stacks.push_back(*grown[i]);
    for (report::FramePath* const path : {&entry.stacks.back().frames, &entry.stacks.back().frames_before}) {
      *path = entry.frames.add(comparison.frames.list(*path));
    }
  }
  return entry;
}

}  // namespace heaptap::findings
