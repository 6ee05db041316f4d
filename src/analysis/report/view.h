// Views of a report, by name, and the place where they are written to.
#pragma once
#include <functional>
#include <string_view>

namespace heaptap::report {

enum class View {
  kSummary,
  kLeaks,
  kTop,
  kTree,
  kStats,
  kSizes,
  kLifetimes,
  kTimeline,
  kBlocks,
  // Views of a leak scan; the report must have their data.
  kHolders,
  kRetained,
  kGlobals,
  kScans,
  kScanChanges,
  kFragmentation,
  // Views of a run.
  kProcesses,
  kPrograms,
  // Views by the program's own labels.
  kTags,
  kPools
};

// Takes a view in pieces, so that a long one is never in memory as a whole.
using Write = std::function<void(std::string_view piece)>;

}  // namespace heaptap::report
