// Verdict on the fix of a leak: one stack's leak, or that of all stacks through a function, in a recording before it and in one after
// it. "Gone" needs proof: each path that had leaked allocated again, all of it was seen, and the leak scan found none of it lost.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/comparison.h"

namespace heaptap::findings {

enum class FixState : uint8_t { kGone, kStillThere, kUnknown };
const char* name_of(FixState state);  // "gone", "still there", "unknown"

struct FixVerdict {
  FixState state = FixState::kUnknown;
  std::vector<std::string> reasons;  // sentences
};

// The two recordings with all of their stacks, and their comparison with unchanged stacks.
struct FixQuestion {
  const report::Report& before;
  const report::Report& after;
  const report::Comparison& comparison;
};

// Of the stack with this number in `before`; 0: of all compared stacks. A number that `before` doesn't have is unknown.
FixVerdict judge_fix(const FixQuestion& question, uint64_t stack);

}  // namespace heaptap::findings
