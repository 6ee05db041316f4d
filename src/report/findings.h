// What a report comes to, in sentences: how the program ended, what leaks, what grew, what was freed badly, what could not be
// seen.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/report.h"

namespace heaptap::report {

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
  std::optional<uint32_t> stack;  // place in Report::stacks that it is about
};

const char* name_of(Severity severity);  // "bad", …
const char* name_of(FindingKind kind);   // "leak", …

// In the order in which one wants to read them. Of a list that would be long the first ones.
std::vector<Finding> findings_of(const Report& report);
// Of recordings that are compared: what became of the totals, which stacks changed most, what is doubtful. `stack` is a place
// in Comparison::stacks.
std::vector<Finding> findings_of(const Comparison& comparison);

}  // namespace heaptap::report
