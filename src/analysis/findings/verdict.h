// Verdict of `heaptap check`: limits that hold, limits exceeded, and the stacks responsible.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/findings/growth_verdict.h"
#include "analysis/report/certainty.h"
#include "analysis/report/report.h"
#include "analysis/report/skipped_names.h"
#include "common/base/known.h"

namespace heaptap::findings {

struct LimitEntry {
  report::LimitKind kind = report::LimitKind::kLeaked;
  base::Known<uint64_t> figure = 0;
  uint64_t limit = 0;
  std::vector<report::StackEntry> stacks;  // if exceeded: the largest contributors
  report::FrameTable frames;               // of `stacks`
  report::Certainty certainty = report::Certainty::kExact;
  bool allow_incomplete = false;  // figures count as they are; without a figure the limit holds

  [[nodiscard]] bool broken() const {
    const bool counts =
        certainty == report::Certainty::kExact || certainty == report::Certainty::kAtLeast || allow_incomplete;
    return counts && figure.exceeds(limit).value_or(false);
  }
  // Whether it can't be decided if the limit holds.
  [[nodiscard]] bool unknown() const {
    return certainty != report::Certainty::kExact && !allow_incomplete && !broken();
  }
};

struct Verdict {
  std::string trace_path;
  bool possible_counts = false;  // as leaked
  std::vector<LimitEntry> limits;
  std::string baseline_path;  // empty: no check of growth
  std::vector<GrowthEntry> growth;
  std::vector<std::string> remarks;   // doubts about the figures
  report::SkippedNames skipped = {};  // machinery defined by the user

  // All limits hold; one is exceeded. If neither, one can't be decided.
  [[nodiscard]] bool passed() const {
    const auto fails = [](const auto& limit) { return limit.broken() || limit.unknown(); };
    return std::ranges::none_of(limits, fails) && std::ranges::none_of(growth, fails);
  }
  [[nodiscard]] bool broken() const {
    const auto is_broken = [](const auto& limit) { return limit.broken(); };
    return std::ranges::any_of(limits, is_broken) || std::ranges::any_of(growth, is_broken);
  }
};

// A stack's contribution to a limit's figure.
report::BlockCount share_of(report::LimitKind kind, bool possible_counts, const report::StackEntry& stack);

// Trace that couldn't be judged.
struct FailedTrace {
  std::string trace_path;
  std::string reason;
};

}  // namespace heaptap::findings
