#include "analysis/known.h"

#include <algorithm>

namespace heaptap::analysis {
namespace {

using report::Gap;

// Of a recording that has no end yet its marks tell.
bool was_switched_off(const std::vector<model::Mark>& marks) {
  return std::ranges::find(marks, model::MarkKind::kStopped, &model::Mark::kind) != marks.end();
}

// Why calls of the program may be missing in what was recorded.
std::vector<Gap> gaps_of(const report::Report& report) {
  const model::Capture& capture = report.capture;
  std::vector<Gap> gaps;
  const auto add = [&](bool is_so, Gap gap) {
    if (is_so) gaps.push_back(gap);
  };
  add(capture.lost_events != 0, Gap::kLostEvents);
  add((capture.gaps & model::kGapDamagedLog) != 0, Gap::kDamagedLog);
  add((capture.gaps & model::kGapOmittedObjects) != 0, Gap::kOmittedObjects);
  add((capture.gaps & model::kGapPastHooks) != 0, Gap::kPastHooks);
  add((capture.gaps & model::kGapMissedReleases) != 0 || report.totals.unseen_releases != 0, Gap::kMissedReleases);
  add((capture.gaps & model::kGapSwitchedOff) != 0 || was_switched_off(report.marks), Gap::kSwitchedOff);
  constexpr uint32_t kNamed = model::kGapDamagedLog | model::kGapOmittedObjects | model::kGapPastHooks |
                              model::kGapMissedReleases | model::kGapSwitchedOff;
  add((capture.gaps & ~kNamed) != 0, Gap::kLater);
  return gaps;
}

}  // namespace

report::Known known_of(const report::Report& report) {
  const model::Capture& capture = report.capture;
  report::Known known{.gaps = gaps_of(report)};
  known.saw_all = known.gaps.empty();
  known.leaks = known.saw_all && report.leaks.scanned && report.leaks.unknown.blocks == 0 && !capture.truncated;
  known.releases = known.saw_all && capture.from_start && capture.ended && !capture.truncated &&
                   capture.import.tells(model::kUntoldReleaseErrors);
  if (capture.truncated) known.gaps.push_back(capture.running ? Gap::kRunning : Gap::kCutOff);
  return known;
}

}  // namespace heaptap::analysis
