// `heaptap check`: pass/fail check of traces against limits.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/leaks/classify.h"
#include "analysis/query/ignores.h"
#include "analysis/query/suppressions.h"
#include "analysis/report/growth_limit.h"
#include "analysis/symbols/resolver.h"
#include "apps/heaptap/options/color_mode.h"
#include "common/base/result.h"
#include "views/json/json_version.h"

namespace heaptap::findings {
struct Verdict;
}

namespace heaptap::app {

struct CheckOptions {
  std::vector<std::string> traces;  // or directories of traces; each is judged separately

  // Maximum allowed; empty: unlimited.
  std::optional<uint64_t> leaked_bytes;  // definitely and indirectly lost
  std::optional<uint64_t> peak_bytes;
  std::optional<uint64_t> live_bytes;
  std::optional<uint64_t> allocations;

  std::string baseline;                     // a trace, or a directory of traces; empty: no check of growth
  std::vector<report::GrowthLimit> growth;  // over the baseline

  bool possible = false;  // possibly lost blocks count as leaked
  uint32_t scan = 0;      // number of the scan; 0: the last one
  uint32_t image = 0;     // number of the program that a process executed, from 1; 0: the last one
  leaks::LeakOptions leaks;
  std::vector<std::string> suppressions;  // files
  bool carried_suppressions = true;       // apply the trace's own suppressions too
  query::Ignores ignores = {};            // stacks neither counted as leaks nor listed
  symbols::ResolverOptions symbols;
  size_t stacks = 3;              // listed for each exceeded limit
  bool allow_incomplete = false;  // uncertain figures count as they are
  std::vector<std::string> skip;  // functions that aren't allocation sites
  findings::FrameTextOptions frames;
  std::optional<json::Version> json;  // of the document; none: text
  bool lines = false;                 // text as a compiler's errors
  bool quiet = false;
  ColorMode color = ColorMode::kAuto;
};

// Adds the trace's growth over the baseline to `verdict`.
base::Result<> judge_growth(const CheckOptions& options, const query::Suppressions& suppressions,
                            findings::Verdict& verdict);

// Verdict on one trace or index, without a baseline.
base::Result<findings::Verdict> judge_recording(const CheckOptions& options, const std::string& trace);

// Returns heaptap's exit status: 0 if all limits hold, 1 if one is exceeded.
int perform(const CheckOptions& options);

}  // namespace heaptap::app
