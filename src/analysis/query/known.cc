#include "analysis/query/known.h"

#include <algorithm>

#include "analysis/findings/capture_text.h"

namespace heaptap::query {
namespace {

using report::Gap;

// A recording without an end has its marks.
bool was_switched_off(const std::vector<model::Mark>& marks) {
  return std::ranges::find(marks, model::MarkKind::kStopped, &model::Mark::kind) != marks.end();
}

// Whether the recording itself says that it can't have calls of the program's allocator.
bool saw_nothing(const report::Report& report) {
  using enum model::NoteKind;
  const model::Capture& capture = report.capture;
  if (!capture.import.tool.empty()) return false;
  if (capture.is_of_core()) return !model::has_note(report.leaks.scan.notes, kEarlierBlocks);
  const bool is_told = std::ranges::any_of(capture.notes, [](const model::Note& note) {
    return note.kind == kAgentNotLoaded || note.kind == kNotAnswered || note.kind == kNoCallSeen ||
           note.kind == kStaticWithoutFunctions || note.kind == kStaticAndStripped || note.kind == kMemoryNotOpened;
  });
  const report::Totals& totals = report.totals;
  const bool is_empty = totals.allocations == 0 && totals.unknown_releases == 0;
  const bool has_own = (capture.gaps & model::kGapOwnAllocator) != 0;
  // Mappings of a program that never calls an allocator may be that of another one.
  const bool has_mappings = totals.peak_mapped_bytes.if_known().value_or(0) != 0;
  // What a process had allocated before it was attached to is unknown, unless a scan found that some of it is lost. (A forked one
  // inherits blocks of a recorded one.)
  const bool has_lost = report.leaks.scanned && report.leaks.definite.blocks != 0;
  const bool began_late = !capture.from_start && capture.parent_pid == 0 && !has_lost;
  return is_told || (is_empty && report.filter.empty() && !report.window && (has_own || has_mappings || began_late));
}

bool has_unrecorded_children(const model::Capture& capture) {
  using enum model::NoteKind;
  return std::ranges::any_of(capture.notes, [](const model::Note& note) {
    return note.kind == kChildrenUnreached || note.kind == kChildExecNotRecorded || note.kind == kChildrenNotFollowed;
  });
}

// Reasons why calls of the program may be missing.
std::vector<Gap> gaps_of(const report::Report& report) {
  const model::Capture& capture = report.capture;
  std::vector<Gap> gaps;
  const auto add = [&](bool is_so, Gap gap) {
    if (is_so) gaps.push_back(gap);
  };
  add(capture.lost_events != 0, Gap::kLostEvents);
  // Events lost on a line are missing as those of a damaged log are.
  const bool is_damaged = (capture.gaps & model::kGapDamagedLog) != 0;
  add(is_damaged, findings::lost_sight_of(capture) ? Gap::kCutOff : Gap::kDamagedLog);
  add((capture.gaps & model::kGapOmittedObjects) != 0, Gap::kOmittedObjects);
  add((capture.gaps & model::kGapPastHooks) != 0, Gap::kPastHooks);
  add((capture.gaps & model::kGapMissedReleases) != 0 || report.totals.unseen_releases.counted() != 0,
      Gap::kMissedReleases);
  add(report.totals.unwatched_releases != 0, Gap::kUnwatchedFunctions);
  add(capture.sample_interval != 0, Gap::kSampled);
  constexpr uint32_t kOff = model::kGapSwitchedOff | model::kGapUnseenWhileOff;
  add((capture.gaps & kOff) != 0 || was_switched_off(report.marks), Gap::kSwitchedOff);
  add((capture.gaps & model::kGapOwnAllocator) != 0, Gap::kOwnAllocator);
  add((capture.gaps & model::kGapDroppedPast) != 0, Gap::kDroppedPast);
  constexpr uint32_t kNamed = model::kGapDamagedLog | model::kGapOmittedObjects | model::kGapPastHooks |
                              model::kGapMissedReleases | model::kGapOwnAllocator | model::kGapDroppedPast | kOff;
  add((capture.gaps & ~kNamed) != 0, Gap::kLater);
  add(saw_nothing(report), Gap::kNothingSeen);
  return gaps;
}

}  // namespace

report::KnownVerdicts known_of(const report::Report& report) {
  const model::Capture& capture = report.capture;
  report::KnownVerdicts known{.gaps = gaps_of(report)};
  known.saw_all = known.gaps.empty();
  const bool was_only_off = known.gaps == std::vector{Gap::kSwitchedOff} && capture.gaps == model::kGapUnseenWhileOff;
  const bool has_all_live = known.saw_all || known.gaps == std::vector{Gap::kDroppedPast};
  known.follows = has_all_live || was_only_off;
  known.any = std::ranges::find(known.gaps, Gap::kNothingSeen) == known.gaps.end();
  known.leaks = has_all_live && report.leaks.scanned && report.leaks.unknown.blocks == 0 && !capture.truncated;
  known.releases = known.saw_all && capture.from_start && capture.ended && !capture.truncated &&
                   capture.import.tells(model::kNotRecordedReleaseErrors);
  if (capture.truncated) known.gaps.push_back(capture.running ? Gap::kRunning : Gap::kCutOff);
  known.children = !has_unrecorded_children(capture);
  if (!known.children) known.gaps.push_back(Gap::kUnrecordedChildren);
  return known;
}

}  // namespace heaptap::query
