// `heaptap check`: a gate. Compares the figures of traces with limits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ignores.h"
#include "analysis/suppressions.h"
#include "app/color_mode.h"
#include "base/result.h"
#include "leaks/classify.h"
#include "report/frame_text.h"
#include "report/growth_limit.h"
#include "symbols/resolver.h"

namespace heaptap::report {
struct Verdict;
}

namespace heaptap::app {

struct CheckOptions {
  std::vector<std::string> traces;  // or directories of traces; each is judged by itself

  // The most that is allowed; empty: anything.
  std::optional<uint64_t> leaked_bytes;  // definitely and indirectly lost
  std::optional<uint64_t> peak_bytes;
  std::optional<uint64_t> live_bytes;
  std::optional<uint64_t> allocations;

  std::string baseline;                     // a trace, or a directory of them; empty: growth isn't judged
  std::vector<report::GrowthLimit> growth;  // over it

  bool possible = false;  // what is possibly lost is leaked, too
  uint32_t scan = 0;      // number of the scan; 0: the last one
  uint32_t image = 0;     // of the programs that a process executed the first, second, …; 0: the last one
  leaks::LeakOptions leaks;
  std::vector<std::string> suppressions;  // files
  bool carried_suppressions = true;       // those that the trace carries count, too
  analysis::Ignores ignores = {};         // stacks that don't count as leaked, and aren't listed
  symbols::ResolverOptions symbols;
  size_t stacks = 3;              // that are shown of each limit that was broken
  bool allow_incomplete = false;  // what isn't known for certain passes as it is
  std::vector<std::string> skip;  // functions that don't name a site
  report::FrameTextOptions frames;
  bool json = false;
  bool quiet = false;
  ColorMode color = ColorMode::kAuto;
};

// Judges the growth of the trace over the baseline, for `verdict`.
base::Result<> judge_growth(const CheckOptions& options, const analysis::Suppressions& suppressions,
                            report::Verdict& verdict);

// Returns heaptap's exit status: 0 where all are within the limits, 1 where one is beyond one.
int perform(const CheckOptions& options);

}  // namespace heaptap::app
