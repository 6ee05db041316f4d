// Findings of a report, in sentences: how the program ended, leaks, growth, bad releases, gaps in the recording.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/comparison.h"
#include "analysis/report/report.h"

namespace heaptap::findings {

enum class Severity : uint8_t { kGood, kInfo, kWarning, kBad };
enum class FindingKind : uint8_t {
  kEnding,
  kPeak,
  kLeaks,
  kLeak,
  kReachable,
  kGrowth,
  kBadFree,
  kUnseen,
  kTotal,
  kChange
};

struct Finding {
  Severity severity = Severity::kInfo;
  FindingKind kind = FindingKind::kEnding;
  std::string text;
  std::optional<uint32_t> stack;  // index into Report::stacks of the stack concerned
};

const char* name_of(Severity severity);  // "bad", …
const char* name_of(FindingKind kind);   // "leak", …

// In reading order. Long lists are cut to their first entries.
std::vector<Finding> findings_of(const report::Report& report);
// Findings of a comparison: changes of the totals, stacks with the largest changes, doubts. `stack` is an index into
// Comparison::stacks.
std::vector<Finding> findings_of(const report::Comparison& comparison);

}  // namespace heaptap::findings
