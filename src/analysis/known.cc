#include "analysis/known.h"

#include <fmt/format.h>

namespace heaptap::analysis {
namespace {

// Why calls of the program may be missing in what was recorded.
std::vector<std::string> gaps_of(const report::Report& report) {
  const model::Capture& capture = report.capture;
  std::vector<std::string> gaps;
  const auto add = [&](bool is_so, const char* words) {
    if (is_so) gaps.emplace_back(words);
  };
  add(capture.lost_events != 0, "events were lost");
  add((capture.gaps & model::kGapDamagedLog) != 0, "a log was damaged");
  add((capture.gaps & model::kGapOmittedObjects) != 0, "calls of some objects were omitted");
  add((capture.gaps & model::kGapPastHooks) != 0, "calls of some objects are not seen");
  add((capture.gaps & model::kGapMissedReleases) != 0 || report.totals.unseen_releases != 0,
      "some releases were not seen");
  constexpr uint32_t kNamed =
      model::kGapDamagedLog | model::kGapOmittedObjects | model::kGapPastHooks | model::kGapMissedReleases;
  add((capture.gaps & ~kNamed) != 0, "calls were missed in a way that a later version of heaptap knows");
  return gaps;
}

}  // namespace

report::Known known_of(const report::Report& report) {
  const model::Capture& capture = report.capture;
  report::Known known{.gaps = gaps_of(report)};
  known.saw_all = known.gaps.empty();
  known.leaks = known.saw_all && report.leaks.scanned && report.leaks.unknown.blocks == 0 && !capture.truncated;
  known.releases = known.saw_all && capture.from_start && capture.ended && !capture.truncated;
  if (capture.truncated) known.gaps.emplace_back(capture.running ? "the recording goes on" : "the trace is cut off");
  return known;
}

}  // namespace heaptap::analysis
