// Verdict of `heaptap check --baseline`: growth of a trace's figures over the baseline's, and the stacks that grew.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/certainty.h"
#include "analysis/report/comparison.h"
#include "analysis/report/growth_limit.h"

namespace heaptap::findings {

struct GrowthEntry {
  report::GrowthLimit limit;
  std::optional<uint64_t> before;  // totals
  std::optional<uint64_t> after;
  int64_t growth = 0;                         // of the total, or of the stack with the largest growth
  uint64_t most = 0;                          // allowed by the limit
  std::vector<report::ComparedStack> stacks;  // if exceeded: those with the largest growth
  report::FrameTable frames;                  // of `stacks`
  report::Certainty certainty = report::Certainty::kExact;
  bool allow_incomplete = false;  // figures count as they are; without a figure the limit holds

  [[nodiscard]] bool broken() const;
  // Whether it can't be decided if the limit holds.
  [[nodiscard]] bool unknown() const {
    return certainty != report::Certainty::kExact && !allow_incomplete && !broken();
  }
};

// The figure of a comparison that a limit is of.
report::Figure figure_of(report::LimitKind kind);

// Certainty of the difference of two figures: an inexact baseline may make the growth too large or too small.
report::Certainty growth_certainty(report::Certainty before, report::Certainty after);

// Verdict on the two recordings of `comparison`, whose totals have that certainty. Lists at most `stacks` stacks.
GrowthEntry judge_growth(const report::Comparison& comparison, const report::GrowthLimit& limit,
                         report::Certainty certainty, bool allow_incomplete, size_t stacks);

}  // namespace heaptap::findings
