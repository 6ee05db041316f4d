// What `heaptap check` says: which limits hold, and which stacks broke the others.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "report/certainty.h"
#include "report/growth_verdict.h"
#include "report/render.h"
#include "report/report.h"

namespace heaptap::report {

struct LimitEntry {
  LimitKind kind = LimitKind::kLeaked;
  uint64_t figure = 0;
  uint64_t limit = 0;
  std::vector<StackEntry> stacks;    // of a limit that was exceeded: those that did most for it
  std::vector<model::Frame> frames;  // that they name
  Certainty certainty = Certainty::kExact;
  bool allow_incomplete = false;  // the figure counts as it is, and where there is none the limit holds

  [[nodiscard]] bool broken() const {
    const bool counts = certainty == Certainty::kExact || certainty == Certainty::kAtLeast || allow_incomplete;
    return counts && certainty != Certainty::kNone && figure > limit;
  }
  // Whether it holds can't be said.
  [[nodiscard]] bool unknown() const { return certainty != Certainty::kExact && !allow_incomplete && !broken(); }
};

struct Verdict {
  std::string trace_path;
  bool possible_counts = false;  // as leaked
  std::vector<LimitEntry> limits;
  std::string baseline_path;  // empty: growth isn't judged
  std::vector<GrowthEntry> growth;
  std::vector<std::string> remarks;  // what makes the figures doubtful
  SkippedNames skipped = {};         // functions that the user calls machinery

  // All limits hold; one is broken; neither is known.
  [[nodiscard]] bool passed() const {
    const auto fails = [](const auto& limit) { return limit.broken() || limit.unknown(); };
    return std::ranges::none_of(limits, fails) && std::ranges::none_of(growth, fails);
  }
  [[nodiscard]] bool broken() const {
    const auto is_broken = [](const auto& limit) { return limit.broken(); };
    return std::ranges::any_of(limits, is_broken) || std::ranges::any_of(growth, is_broken);
  }
};

// What a stack did for a limit's figure.
BlockCount share_of(LimitKind kind, bool possible_counts, const StackEntry& stack);

std::string render_verdict(const Verdict& verdict, const RenderOptions& options);
std::string render_verdict_json(const Verdict& verdict);
// On several traces. Those of `failures` couldn't be judged.
struct FailedTrace {
  std::string trace_path;
  std::string reason;
};
std::string render_verdicts_json(const std::vector<Verdict>& verdicts, const std::vector<FailedTrace>& failures);

}  // namespace heaptap::report
