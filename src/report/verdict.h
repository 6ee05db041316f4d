// What `heaptap check` says: which limits hold, and which stacks broke the others.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "report/render.h"
#include "report/report.h"

namespace heaptap::report {

enum class LimitKind : uint8_t { kLeaked, kPeak, kLive, kAllocations };

// How far a figure can be relied on.
enum class Certainty : uint8_t {
  kExact,
  kAtLeast,  // something may be missing in it
  kUnknown,  // it may be too large as well as too small
  kNone,     // there is no figure
};

// What wasn't recorded may make a figure larger, or smaller if it was releases. `is_early_scan`: the leaks are those of a moment
// before the end.
Certainty certainty_of(const Report& report, LimitKind kind, bool is_early_scan);

struct LimitEntry {
  LimitKind kind = LimitKind::kLeaked;
  uint64_t figure = 0;
  uint64_t limit = 0;
  std::vector<StackEntry> stacks;  // of a limit that was broken: those that did most for it
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
  std::vector<std::string> remarks;  // what makes the figures doubtful

  // All limits hold; one is broken; neither is known.
  [[nodiscard]] bool passed() const {
    return std::ranges::none_of(limits, [](const LimitEntry& limit) { return limit.broken() || limit.unknown(); });
  }
  [[nodiscard]] bool broken() const {
    return std::ranges::any_of(limits, [](const LimitEntry& limit) { return limit.broken(); });
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
